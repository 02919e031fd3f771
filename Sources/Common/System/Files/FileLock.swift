#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A lock on a file that one process at a time can hold (flock(2)); the kernel releases it when the process ends.
package struct FileLock: ~Copyable, Sendable {
  private let file: Descriptor
  /// Whether the file may be written.
  private let isWritable: Bool

  // Closing isn't enough: a child that was just forked also has the file open until it runs exec, and
  // flock(2) says: "the lock is released either by an explicit LOCK_UN operation on any of these duplicate file
  // descriptors, or when all such file descriptors have been closed."
  deinit { flock(file.raw, LOCK_UN) }

  /// Takes the lock and writes this process's ID into the file. Returns nil if another process holds it.
  ///
  /// A file of this user's is made accessible, and one of another user that may only be read is locked all the same.
  package static func take(_ path: String) throws(SystemError) -> FileLock? {
    while true {
      let lock: FileLock
      do throws(SystemError) {
        lock = FileLock(file: try Kernel.open(path, [.readWrite, .create]), isWritable: true)
      } catch {
        guard error.code == .permissionDenied, let closed = openClosed(path) else { throw error }
        lock = closed
      }
      switch lock.refusal {
      case nil: break
      case .wouldBlock: return nil
      // flock(2) says of NFS that "in order to place an exclusive lock, the file must be opened for writing".
      case .badFileDescriptor: throw SystemError("open", on: path, code: .permissionDenied)
      case let code?: throw SystemError("flock", on: path, code: code)
      }
      // If the file was removed between the two calls, another process can lock a new one at the path.
      guard try lock.isHeld(at: path) else { continue }
      guard lock.isWritable else { return lock }
      try Kernel.truncate(lock.file, to: 0)
      // For people: a full disk must not prevent the lock.
      try? Kernel.write(Array("\(getpid())\n".utf8).span.bytes, to: lock.file, path: path)
      return lock
    }
  }

  /// Opens a file that this process may not open for writing.
  private static func openClosed(_ path: String) -> FileLock? {
    // Not what a link leads to.
    guard (try? Kernel.status(path, followLinks: false))??.kind == .file else { return nil }
    if (try? Kernel.setMode(path, to: 0o644)) != nil,
      let file = try? Kernel.open(path, [.readWrite, .noFollow])
    {
      return FileLock(file: file, isWritable: true)
    }
    guard let file = try? Kernel.open(path, [.read, .noFollow]) else { return nil }
    return FileLock(file: file, isWritable: false)
  }

  /// Calls flock(2); returns why it failed.
  private var refusal: Errno? {
    while flock(file.raw, LOCK_EX | LOCK_NB) != 0 {
      let code = Errno(rawValue: Native.errorNumber)
      if code != .interrupted { return code }
    }
    return nil
  }

  /// Whether the file at `path` is still the locked one; false if it was removed or replaced.
  package borrowing func isHeld(at path: String) throws(SystemError) -> Bool {
    let own = try Kernel.status(file)
    guard let there = try Kernel.status(path) else { return false }
    return there.inode == own.inode && there.device == own.device
  }

  /// Returns the process ID that a lock's holder wrote into it.
  package static func holder(_ path: String) -> Int32? {
    guard let bytes = try? DurableFile.read(path, limit: 32) else { return nil }
    return Int32(String(decoding: bytes, as: UTF8.self).trimmingNewline)
  }
}

extension String {
  fileprivate var trimmingNewline: Substring { hasSuffix("\n") ? dropLast() : self[...] }
}
