/// A file to be added to an archive.
package struct ArchiveInput: Sendable {
  /// A relative path with `/` between its parts.
  package let name: String
  /// How its bytes are compressed.
  package let method: Archive.Method
  /// The size in bytes, which the source from `open` must have.
  package let size: Int64
  /// Opens the file when its turn comes, on any thread.
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

  /// Creates an input from bytes in memory.
  package init(_ name: String, _ method: Archive.Method = .deflate, bytes: [UInt8]) {
    self.init(name, method, size: Int64(bytes.count)) { ArchiveBytes(bytes) }
  }

  /// Files up to this size are compressed in memory, by any thread; larger ones are streamed while they are written.
  static let smallSize: Int64 = 8 << 20

  var isSmall: Bool { size <= Self.smallSize }

  /// Opens the file and checks its size.
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
