/// A file that goes into an archive.
package struct ArchiveInput: Sendable {
  /// A relative path with `/` between its parts.
  package let name: String
  /// How its bytes are kept.
  package let method: Archive.Method
  /// Bytes; what `open` gives must have as many.
  package let size: Int64
  /// Opens the file's bytes when their turn comes, on any thread.
  package let open: @Sendable () throws -> any ArchiveSource

  package init(
    _ name: String, _ method: Archive.Method = .deflate, size: Int64,
    open: @escaping @Sendable () throws -> any ArchiveSource
  ) {
    self.name = name
    self.method = method
    self.size = size
    self.open = open
  }

  /// A file that is in memory.
  package init(_ name: String, _ method: Archive.Method = .deflate, bytes: [UInt8]) {
    self.init(name, method, size: Int64(bytes.count)) { ArchiveBytes(bytes) }
  }

  /// Up to here a file is packed in memory, by any thread; larger ones are streamed when they are written.
  static let smallSize: Int64 = 8 << 20

  var isSmall: Bool { size <= Self.smallSize }

  /// The file's bytes, as many as it says.
  /// - Throws: `input`, `wrongSize`.
  func opened() throws(ArchiveError) -> any ArchiveSource {
    let source: any ArchiveSource
    do {
      source = try open()
    } catch {
      throw .input(name, error)
    }
    guard source.size == size else { throw .wrongSize(name) }
    return source
  }
}
