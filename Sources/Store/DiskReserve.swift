import Platform
import System

/// Room that a data folder keeps for the hour in which others fill its disk: a file that is removed when the start or an act
/// that can't wait finds none, and made again once there is room.
///
/// What uploads leave free (`Disk.reserve`) is for an origin that fills the disk itself; this is for the logs, backups and
/// downloads of whatever shares it.
package final class DiskReserve: Sendable {
  private let path: String
  private let disk: Disk
  /// Whether this process has seen that the file has blocks: a copy of a folder may have it with none.
  private let isReal = Locked(false)

  init(_ folder: DataFolder, _ disk: Disk) {
    path = folder.reserve
    self.disk = disk
  }

  /// How much of a file system it takes: 4 MB, or a thirty-second where that is less.
  static func size(of space: DiskSpace) -> Int64 { min(4 << 20, space.size / 32) }

  /// Bytes that are kept now; 0: they are spent, or there never was room for them.
  package var bytes: Int64 { ((try? Kernel.status(path)) ?? nil)?.size ?? 0 }

  /// Makes the file where it is missing and the disk has room for it twice.
  /// - Returns: whether it is there now.
  @discardableResult
  package func fill() -> Bool {
    isReal.withLock { isReal in
      let held = bytes
      if isReal, held > 0 { return true }
      isReal = false
      guard let space = try? disk.space(DurableFile.parent(of: path)) else { return false }
      let size = Self.size(of: space)
      guard size > 0, held > 0 || space.available / 2 >= size else { return false }
      do throws(SystemError) {
        let file = try Kernel.open(path, [.write, .create], mode: 0o600)
        try Kernel.allocate(file, bytes: size, path: path)
        isReal = true
        return true
      } catch {
        // Half of it may be what is missing elsewhere; the next try is made in a while.
        try? Kernel.remove(path)
        return false
      }
    }
  }

  /// Gives the room up.
  /// - Returns: whether there was any.
  func release() -> Bool {
    isReal.withLock { isReal in
      isReal = false
      guard bytes > 0 else { return false }
      return (try? Kernel.remove(path)) != nil
    }
  }

  /// Runs `body`, and where the disk is full, once more with this room.
  func lending<Result: ~Copyable>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    do {
      return try body()
    } catch {
      guard isForRoom(error), release() else { throw error }
    }
    return try body()
  }

  /// Whether more room may help. SQLite calls a log that it can't make one that it can't open, and one that it can't map an
  /// input/output error.
  private func isForRoom(_ error: StoreError) -> Bool {
    switch error {
    case .diskFull: return true
    case .database, .system:
      guard let space = try? disk.space(DurableFile.parent(of: path)) else { return false }
      return space.available < Self.size(of: space) / 4
    default: return false
    }
  }
}
