import System

extension JSONValue {
  /// The member, 32 lower-case hexadecimal digits.
  package func md5(_ key: String) throws(JSONError) -> MD5 {
    guard let digest = self[key]?.string.flatMap({ MD5(hex: $0) }) else { throw .member(key) }
    return digest
  }

  /// The member, 64 lower-case hexadecimal digits.
  package func sha256(_ key: String) throws(JSONError) -> SHA256 {
    guard let digest = self[key]?.string.flatMap({ SHA256(hex: $0) }) else { throw .member(key) }
    return digest
  }

  /// The member, a count of bytes below 2^53.
  package func size(_ key: String) throws(JSONError) -> Int64 {
    guard let size = self[key]?.integer, size >= 0 else { throw .member(key) }
    return size
  }

  /// The member, a string.
  package func string(_ key: String) throws(JSONError) -> String {
    guard let text = self[key]?.string else { throw .member(key) }
    return text
  }

  /// The member, a version as a decimal string.
  package func version(_ key: String) throws(JSONError) -> ManifestVersion {
    guard let version = self[key]?.string.flatMap({ ManifestVersion(text: $0) }) else { throw .member(key) }
    return version
  }
}
