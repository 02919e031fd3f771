#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A folder that one process at a time can hold: the folder itself is locked and, for processes that look only there, a file in
/// it. Whoever renames or removes that file thus lets nobody else in.
package final class FolderLock: Sendable {
  private let folder: String
  private let path: String
  private let handle: Descriptor
  /// Whether the file system can lock a folder; NFS can't.
  private let locksFolder: Bool
  private let file: Locked<FileLock?>

  // As for `FileLock`: closing isn't enough.
  deinit { if locksFolder { flock(handle.raw, LOCK_UN) } }

  private init(
    _ folder: String, _ path: String, _ handle: consuming Descriptor, locksFolder: Bool,
    _ file: consuming sending FileLock
  ) {
    self.folder = folder
    self.path = path
    self.handle = handle
    self.locksFolder = locksFolder
    self.file = Locked(file)
  }

  /// Takes the lock of an existing folder, with the file `path` in it. Returns nil if another process holds it.
  package static func take(_ folder: String, file path: String) throws(SystemError) -> FolderLock? {
    let handle = try Kernel.open(folder, [.read, .directory])
    let refusal = lock(handle.raw)
    if refusal == .wouldBlock { return nil }
    guard let file = try FileLock.take(path) else {
      if refusal == nil { flock(handle.raw, LOCK_UN) }
      return nil
    }
    return FolderLock(folder, path, handle, locksFolder: refusal == nil, file)
  }

  /// Calls flock(2); returns why it failed. EBADF doesn't mean a closed descriptor here: flock(2) says of NFS that "in order to
  /// place an exclusive lock, the file must be opened for writing", which a folder can't be.
  private static func lock(_ descriptor: Int32) -> Errno? {
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      let code = Errno(rawValue: Native.errorNumber)
      if code != .interrupted { return code }
    }
    return nil
  }

  /// Whether the folder at the path is still this one, and nobody else can hold it. A file that was removed or renamed is made
  /// again, as soon as it can be.
  package func isHeld() throws(SystemError) -> Bool {
    let own = try Kernel.status(handle)
    guard let there = try Kernel.status(folder), there.inode == own.inode, there.device == own.device else {
      return false
    }
    return try file.withLock { (file) throws(SystemError) -> Bool in
      if try file?.isHeld(at: path) ?? false { return true }
      // Without a lock of the folder, another process may have been here in between.
      guard locksFolder else { return false }
      let made: FileLock?
      do throws(SystemError) {
        made = try FileLock.take(path)
      } catch {
        // There is no room for it, or something else in its place. The folder's own lock keeps others out, so whoever writes
        // goes on; the next call tries again.
        return true
      }
      guard let made else { return false }
      file = consume made
      return true
    }
  }
}
