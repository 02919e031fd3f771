import Libc

/// Small files that are either the old or the new one after a power cut, never half of each.
package enum DurableFile {
  /// Numbers temporary names, so that two threads that write one file don't write into each other's.
  private static let counter = Locked(0)

  /// Writes `bytes` as `path`: a temporary name beside it, fsync, rename, fsync of the folder.
  /// - Parameter replaces: whether a file of that name makes way.
  /// - Throws: EEXIST, where one is there that doesn't.
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
        // A link is made where no name is, and nowhere else; where a file system has none, nearly so.
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

  /// All bytes of a file; nil where there is none.
  /// - Throws: also EFBIG, for a file of more than `limit` bytes.
  package static func read(_ path: String, limit: Int = .max) throws(SystemError) -> [UInt8]? {
    // Where somebody put a pipe into its place, open(2) would wait for who writes into it.
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

  /// The folder that holds `path`.
  package static func parent(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
