import Libc

/// A lock on a file that one process at a time can hold (flock(2)); the kernel releases it when the process ends.
package struct FileLock: ~Copyable, Sendable {
  private let file: Descriptor

  // Closing isn't enough: a child that was just forked also has the file open until it runs exec, and
  // flock(2) says: "the lock is released either by an explicit LOCK_UN operation on any of these duplicate file
  // descriptors, or when all such file descriptors have been closed."
  deinit { flock(file.raw, LOCK_UN) }

  /// Takes the lock and writes this process's ID into the file. Returns nil if another process holds it.
  package static func take(_ path: String) throws(SystemError) -> FileLock? {
    while true {
      let file = try Kernel.open(path, [.readWrite, .create])
      let raw = file.raw
      do {
        _ = try Kernel.retrying("flock", on: path) { flock(raw, LOCK_EX | LOCK_NB) }
      } catch  where error.code == .wouldBlock {
        return nil
      }
      let lock = FileLock(file: file)
      // If the file was removed between the two calls, another process can lock a new one at the path.
      guard try lock.isHeld(at: path) else { continue }
      try Kernel.truncate(lock.file, to: 0)
      // For people: a full disk must not prevent the lock.
      try? Kernel.write(Array("\(getpid())\n".utf8).span.bytes, to: lock.file, path: path)
      return lock
    }
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
