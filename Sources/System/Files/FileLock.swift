import Libc

/// A lock that one process at a time holds on a file (flock(2)); the kernel lifts it when the process ends.
package struct FileLock: ~Copyable, Sendable {
  private let file: Descriptor

  // Closing would do, but for a child that was just forked: until it runs its program, it has the file open, too, and
  // flock(2) says: "the lock is released either by an explicit LOCK_UN operation on any of these duplicate file
  // descriptors, or when all such file descriptors have been closed."
  deinit { flock(file.raw, LOCK_UN) }

  /// Takes the lock and writes this process's id into the file; nil where another process holds it.
  package static func take(_ path: String) throws(SystemError) -> FileLock? {
    let file = try Kernel.open(path, [.readWrite, .create])
    let raw = file.raw
    do {
      _ = try Kernel.retrying("flock", on: path) { flock(raw, LOCK_EX | LOCK_NB) }
    } catch  where error.code == .wouldBlock {
      return nil
    }
    try Kernel.truncate(file, to: 0)
    // It is there for people: a full disk keeps nobody from the lock.
    try? Kernel.write(Array("\(getpid())\n".utf8).span.bytes, to: file, path: path)
    return FileLock(file: file)
  }

  /// The process id that the holder of a lock wrote into it.
  package static func holder(_ path: String) -> Int32? {
    guard let bytes = try? DurableFile.read(path, limit: 32) else { return nil }
    return Int32(String(decoding: bytes, as: UTF8.self).trimmingNewline)
  }
}

extension String {
  fileprivate var trimmingNewline: Substring { hasSuffix("\n") ? dropLast() : self[...] }
}
