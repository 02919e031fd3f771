import System

/// Reads a file, and detects if it changes meanwhile.
struct FileReader: ~Copyable {
  private let file: Descriptor
  let source: SourceFile
  /// The status when it was opened.
  let status: FileStatus

  /// Opens the file, whatever its status is.
  /// - Throws: `unreadable`.
  init(_ source: SourceFile) throws(PublishError) {
    do {
      // Non-blocking: opening a FIFO that replaced the file would wait for a writer.
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

  /// Returns the contents of a small file, or nil if it has changed since it was found, or isn't small.
  ///
  /// This takes four system calls: the status is known from when the file was found, so it is only checked once more, at
  /// the end. `buffer` must be larger than the file.
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

  /// Reads into `buffer` from `offset` on; returns 0 at the end.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(PublishError) -> Int {
    do {
      return try Kernel.read(file, at: offset, into: buffer)
    } catch {
      throw .unreadable(source.location, error)
    }
  }

  /// Checks that the file still has the status `expected`.
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
  /// Whether it is the same file, and wasn't written to in between.
  func hasBytes(of other: FileStatus) -> Bool {
    device == other.device && inode == other.inode && size == other.size && modified == other.modified
      && changed == other.changed
  }
}
