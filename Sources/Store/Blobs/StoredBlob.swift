import Platform

/// An open blob whose bytes were checked against its name since the start of this process.
package struct StoredBlob: ~Copyable, Sendable {
  package let file: Descriptor
  /// Bytes.
  package let size: Int64

  /// Gives the file away.
  package consuming func takeFile() -> Descriptor { file }
}
