import System
import Values

extension CacheFolder {
  /// Makes the missing parts of the folder, and takes its lock.
  /// - Throws: `inUse`, `file`.
  func makeAndLock() throws(DeviceError) -> FileLock {
    try make()
    let taken: FileLock?
    do throws(DeviceError) {
      taken = try onDisk(lock) { () throws(SystemError) in
        // A link may lead to another process's lock.
        if try Kernel.status(lock, followLinks: false)?.kind != .link { try Self.clear(lock) }
        return try FileLock.take(lock)
      }
    } catch {
      throw error.ofLock
    }
    guard let taken else { throw .inUse(folder: root, process: FileLock.holder(lock)) }
    return taken
  }

  /// Returns the bytes of `index.json`, and the index in them; nil if there is none or it isn't valid.
  /// - Throws: `otherContents`, `file`.
  func readIndex(
    of owner: DeviceIndex.Owner, hosts: HostList
  ) throws(DeviceError) -> (bytes: [UInt8]?, held: DeviceIndex?) {
    let bytes: [UInt8]?
    do throws(DeviceError) {
      bytes = try onDisk(index) { () throws(SystemError) in try DurableFile.read(index, limit: 1 << 30) }
    } catch  where error.isUnreadableFile {
      // As if it were damaged: the next update writes it anew.
      return ([], nil)
    }
    guard let held = bytes.flatMap({ DeviceIndex.parse($0, hosts: hosts) }) else { return (bytes, nil) }
    guard held.owner == owner else {
      throw .otherContents(folder: root, holds: held.owner.message, asked: owner.message)
    }
    return (bytes, held.index)
  }

  /// Whether everything exists that a device at `held` always has.
  func isWhole(holding held: DeviceIndex) -> Bool {
    let areThere = [files, staging, aside].allSatisfy { (try? Kernel.status($0))??.kind == .folder }
    guard areThere else { return false }
    return held.version.number == 0 || mark(index) != nil
  }
}

extension DeviceError {
  /// The same error, if it is that this process may not open the lock, with what to do. It isn't made anew: whoever may open it may
  /// hold it.
  fileprivate var ofLock: DeviceError {
    guard case .file(let path, let call, let code, _) = self, Errno(rawValue: code) == .permissionDenied
    else {
      return self
    }
    let reason =
      "It belongs to another user, and can't be opened; remove it if no process of that user's uses the folder"
    return .file(path: path, call: call, code: code, reason: reason)
  }
}
