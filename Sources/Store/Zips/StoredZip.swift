import Platform

/// An open zip of a channel's files.
package struct StoredZip: ~Copyable, Sendable {
  package let file: Descriptor
  /// Bytes.
  package let size: Int64
  /// Stands for its bytes: their sha256 in part, in hexadecimal.
  package let tag: String

  /// Gives the file away.
  package consuming func takeFile() -> Descriptor { file }
}
