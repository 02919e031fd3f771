import Platform

/// What a sender says of a file before its bytes arrive.
package struct BlobClaim: Hashable, Sendable {
  package let sha256: SHA256
  package let md5: MD5
  /// Bytes; nil where the sender doesn't know yet.
  package let size: Int64?

  package init(sha256: SHA256, md5: MD5, size: Int64? = nil) {
    self.sha256 = sha256
    self.md5 = md5
    self.size = size
  }

  func agrees(with received: FileDigest) -> Bool {
    sha256 == received.sha256 && md5 == received.md5 && (size ?? received.size) == received.size
  }
}
