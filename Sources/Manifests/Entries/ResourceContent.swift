import System

/// What a publish says of a URL: its bytes' digests and size, and their type.
package struct ResourceContent: Hashable, Sendable {
  package let md5: MD5
  package let sha256: SHA256
  /// Bytes.
  package let size: Int64
  package let ctype: ContentType

  package init(md5: MD5, sha256: SHA256, size: Int64, ctype: ContentType) {
    self.md5 = md5
    self.sha256 = sha256
    self.size = size
    self.ctype = ctype
  }

  package init(_ digest: FileDigest, ctype: ContentType) {
    self.init(md5: digest.md5, sha256: digest.sha256, size: digest.size, ctype: ctype)
  }

  /// Reads `{"ctype","md5","sha256","size"}`; other members are ignored.
  ///
  /// - Throws: `member` with the name of the one that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    md5 = try json.md5("md5")
    sha256 = try json.sha256("sha256")
    size = try json.size("size")
    guard let ctype = json["ctype"]?.string.flatMap(ContentType.init) else { throw .member("ctype") }
    self.ctype = ctype
  }

  /// The same as JSON.
  package var json: JSONValue {
    [
      "ctype": .string(ctype.text), "md5": .string(md5.hex), "sha256": .string(sha256.hex),
      "size": .integer(size),
    ]
  }
}
