import System
import Values

extension JSONValue {
  /// Returns the member, 32 lowercase hexadecimal digits.
  package func md5(_ key: String) throws(JSONError) -> MD5 {
    guard let digest = self[key]?.string.flatMap({ MD5(hex: $0) }) else { throw .member(key) }
    return digest
  }

  /// Returns the member, 64 lowercase hexadecimal digits.
  package func sha256(_ key: String) throws(JSONError) -> SHA256 {
    guard let digest = self[key]?.string.flatMap({ SHA256(hex: $0) }) else { throw .member(key) }
    return digest
  }

  /// Returns the member, a version as a decimal string.
  package func version(_ key: String) throws(JSONError) -> ManifestVersion {
    guard let version = self[key]?.string.flatMap({ ManifestVersion(text: $0) }) else { throw .member(key) }
    return version
  }
}
