import System

/// A file that is read in one state: what changes while it is read is noticed.
struct FileReader: ~Copyable {
  private let file: Descriptor
  let source: SourceFile
  /// The state in which it was opened.
  let status: FileStatus

  /// Opens the file in whatever state it is.
  /// - Throws: `unreadable`.
  init(_ source: SourceFile) throws(PublishError) {
    do {
      // Not blocking: a pipe that took the file's place would wait for a writer.
      try self.init(opening: source, Kernel.open(source.location, [.read, .nonBlocking]))
    } catch {
      throw .unreadable(source.location, error)
    }
  }

  private init(opening source: SourceFile, _ file: consuming Descriptor) throws(SystemError) {
    status = try Kernel.status(file)
    self.file = file
    self.source = source
  }

  /// All bytes of a small file, where it still is as it was when it was found; nil: it isn't, or isn't that small.
  ///
  /// Four calls of the kernel: it was asked for its status when it was found, so it is asked once more, at the end.
  /// - Parameter buffer: larger than the file.
  static func small(_ source: SourceFile, into buffer: UnsafeMutableRawBufferPointer) throws(PublishError)
    -> [UInt8]?
  {
    do {
      let file = try Kernel.open(source.location, [.read, .nonBlocking])
      let count = try Kernel.read(file, into: buffer)
      guard Int64(count) == source.status.size, count < buffer.count,
        try Kernel.status(file).hasBytes(of: source.status)
      else { return nil }
      return Array(buffer[..<count])
    } catch {
      throw .unreadable(source.location, error)
    }
  }

  /// The bytes from `offset` on; 0 at the end.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(PublishError) -> Int {
    do {
      return try Kernel.read(file, at: offset, into: buffer)
    } catch {
      throw .unreadable(source.location, error)
    }
  }

  /// Passes while the file is in the state `expected`.
  /// - Throws: `changedWhileRead`.
  func check(_ expected: FileStatus) throws(PublishError) {
    let now: FileStatus
    do {
      now = try Kernel.status(file)
    } catch {
      throw .unreadable(source.location, error)
    }
    guard now.hasBytes(of: expected) else { throw .changedWhileRead(source.location) }
  }
}

extension FileStatus {
  /// Whether it is the same file, not written to since.
  func hasBytes(of other: FileStatus) -> Bool {
    device == other.device && inode == other.inode && size == other.size && modified == other.modified
      && changed == other.changed
  }
}
