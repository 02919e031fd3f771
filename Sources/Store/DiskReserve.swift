import Platform
import System

/// Room that a data folder keeps for the hour in which others fill its disk: a file that is removed when the start or an act
/// that can't wait finds none, and made again once there is room.
///
/// What uploads leave free (`Disk.reserve`) is for an origin that fills the disk itself; this is for the logs, backups and
/// downloads of whatever shares it.
package final class DiskReserve: Sendable {
  private struct State {
    /// How often the room was given up: whoever found the disk full before that tries again with it.
    var releases = 0
    /// Why it couldn't be made the last time; nil: it could.
    var failure: SystemError?
  }

  /// Where it is.
  package let path: String
  private let disk: Disk
  private let state = Locked(State())

  init(_ folder: DataFolder, _ disk: Disk) {
    path = folder.reserve
    self.disk = disk
  }

  /// How much of a file system it takes: 4 MB, or a thirty-second where that is less.
  static func size(of space: DiskSpace) -> Int64 { min(4 << 20, space.size / 32) }

  /// Bytes that are kept now; 0: they are spent, or there never was room for them. A copy of a folder may have the file's
  /// length and no blocks (`cp --sparse=always`, `tar -S`): those count.
  package var bytes: Int64 {
    guard let named, named.kind == .file else { return 0 }
    return min(named.size, named.allocated)
  }

  /// What has the file's name, of a link itself.
  private var named: FileStatus? { (try? Kernel.status(path, followLinks: false)) ?? nil }

  /// What has the file's name and is none, so that no room can be kept: `a folder`; nil: nothing is in the way.
  package var obstacle: String? {
    switch named?.kind {
    case nil, .file?: nil
    case .folder?: "a folder"
    case .link?: "a symbolic link"
    case .other?: "a pipe, a socket or a device"
    }
  }

  /// Whether nothing is kept because the disk has too little room.
  package var isDiskFull: Bool {
    guard bytes == 0, obstacle == nil else { return false }
    if state.withLock({ $0.failure?.isDiskFull ?? false }) { return true }
    guard let space = try? disk.space(DurableFile.parent(of: path)) else { return false }
    return space.available / 2 < Self.size(of: space)
  }

  /// Why nothing is kept on a disk that has room; nil: something is, or the disk is full.
  package var fault: String? {
    if let obstacle { return "\(path) is \(obstacle); remove it" }
    guard bytes == 0, !isDiskFull else { return nil }
    return state.withLock { $0.failure?.description }
  }

  /// Makes the file where it is missing or has too few blocks, and the disk has twice the room that this takes.
  /// - Returns: whether there is one now.
  @discardableResult
  package func fill() -> Bool {
    state.withLock { state in
      state.failure = nil
      guard obstacle == nil else { return false }
      let held = bytes
      guard let space = try? disk.space(DurableFile.parent(of: path)) else { return held > 0 }
      let size = Self.size(of: space)
      guard held < size, space.available / 2 >= size - held else { return held > 0 }
      do throws(SystemError) {
        // Something else may have the name by now: a pipe would be waited for, and a link's file be written.
        let file = try Kernel.open(path, [.write, .create, .noFollow, .nonBlocking], mode: 0o600)
        guard try Kernel.status(file).kind == .file else { return false }
        do throws(SystemError) {
          try Kernel.allocate(file, bytes: size, path: path)
          return true
        } catch {
          // Half of it may be what is missing elsewhere; the next try is made in a while.
          try? Kernel.remove(path)
          throw error
        }
      } catch {
        state.failure = error
        return false
      }
    }
  }

  /// Gives the room up.
  /// - Returns: whether there was any.
  func release() -> Bool {
    state.withLock { state in
      guard bytes > 0, (try? Kernel.remove(path)) != nil else { return false }
      state.releases += 1
      return true
    }
  }

  /// Runs `body`, and where the disk is full, once more with this room, or with what another act gave up of it meanwhile.
  func lending<Result: ~Copyable>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    let before = state.withLock { $0.releases }
    do {
      return try body()
    } catch {
      let wasReleased = state.withLock { $0.releases } != before
      guard wasReleased ? mayBeForRoom(error) : isForRoom(error) && release() else { throw error }
    }
    return try body()
  }

  /// Whether more room may help. SQLite calls a log that it can't make one that it can't open, and one that it can't map an
  /// input/output error.
  private func isForRoom(_ error: StoreError) -> Bool {
    if case .diskFull = error { return true }
    guard mayBeForRoom(error), let space = try? disk.space(DurableFile.parent(of: path)) else { return false }
    return space.available < Self.size(of: space) / 4
  }

  private func mayBeForRoom(_ error: StoreError) -> Bool {
    switch error {
    case .diskFull, .database, .system: true
    default: false
    }
  }
}
