#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Writes small files atomically: after a power cut a file has its old or its new content, never a mix.
package enum DurableFile {
  /// Numbers temporary names, so that two threads writing the same file don't share one.
  private static let counter = Locked(0)

  /// Writes `bytes` to `path`: to a temporary file beside it, then fsync, rename and fsync of the folder.
  /// - Parameters:
  ///   - bytes: The file's whole content.
  ///   - path: The file.
  ///   - mode: Its permission bits.
  ///   - replaces: Whether an existing file is replaced.
  /// - Throws: EEXIST if the file exists and `replaces` is false.
  package static func write(
    _ bytes: [UInt8], to path: String, mode: mode_t = 0o644, replaces: Bool = true
  ) throws(SystemError) {
    let number = counter.withLock { number in
      number &+= 1
      return number
    }
    let temporary = "\(path).\(getpid())-\(number).tmp"
    do throws(SystemError) {
      let file = try Kernel.open(temporary, [.write, .create, .truncate], mode: mode)
      try Kernel.write(bytes.span.bytes, to: file, path: path)
      try Kernel.sync(file, path: path)
      if !replaces {
        // link(2) never replaces an existing name. Without hard links, the check below comes close.
        guard try !Kernel.link(temporary, to: path) else {
          try Kernel.remove(temporary)
          return try Kernel.syncFolder(parent(of: path))
        }
        if try Kernel.status(path, followLinks: false) != nil {
          throw SystemError("rename", on: path, code: .fileExists)
        }
      }
      try Kernel.rename(temporary, to: path)
    } catch {
      _ = unlink(temporary)
      throw error
    }
    try Kernel.syncFolder(parent(of: path))
  }

  /// Returns the contents of a file, or nil if it doesn't exist.
  /// - Throws: Also EFBIG for a file of more than `limit` bytes.
  package static func read(_ path: String, limit: Int = .max) throws(SystemError) -> [UInt8]? {
    // If there is a FIFO at `path`, a blocking open(2) would wait for a writer.
    guard let file = try Kernel.openExisting(path, [.read, .nonBlocking]) else { return nil }
    let size = Int(try Kernel.status(file).size)
    guard size <= limit else { throw SystemError("read", on: path, code: .fileTooLarge) }
    var bytes = [UInt8](repeating: 0, count: size)
    var filled = 0
    while filled < size {
      let count = try bytes.withUnsafeMutableBytes { buffer in
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
        return Result { () throws(SystemError) in try Kernel.read(file, into: rest) }
      }.get()
      if count == 0 { break }
      filled += count
    }
    bytes.removeLast(size - filled)
    return bytes
  }

  /// Returns the folder that contains `path`.
  package static func parent(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
