import Linux
import System

/// Disk space that a data folder holds in reserve in case other programs fill its disk: a file that is removed when the
/// start, or an act that can't wait, finds no space, and created again once there is some.
///
/// What uploads leave free (`Disk.reserve`) is for an origin that fills the disk itself; this is for logs, backups and
/// downloads of other programs on the same disk.
package final class DiskReserve: Sendable {
  private struct State {
    /// How often the reserve was given up. An act that found the disk full before the latest time tries again.
    var releases = 0
    /// Why the file couldn't be created the last time; nil if it could.
    var failure: SystemError?
  }

  /// The path of the reserve file.
  package let path: String
  private let disk: Disk
  private let state = Locked(State())

  init(_ folder: DataFolder, _ disk: Disk) {
    path = folder.reserve
    self.disk = disk
  }

  /// The size of the reserve on a file system: 4 MB, or a thirty-second if that is less.
  static func size(of space: DiskSpace) -> Int64 { min(4 << 20, space.size / 32) }

  /// The bytes held now; 0 if they were given up or there never was space for them. A copy of a folder may have the
  /// file's length but no blocks (`cp --sparse=always`, `tar -S`), so blocks are what counts.
  package var bytes: Int64 {
    guard let named, named.kind == .file else { return 0 }
    return min(named.size, named.allocated)
  }

  /// The status of whatever is at `path`; of a link, the link's own.
  private var named: FileStatus? { (try? Kernel.status(path, followLinks: false)) ?? nil }

  /// What is at `path` instead of a file, so that nothing can be held, such as `a folder`; nil if nothing is in the way.
  package var obstacle: String? {
    switch named?.kind {
    case nil, .file?: nil
    case .folder?: "a folder"
    case .link?: "a symbolic link"
    case .other?: "a pipe, a socket or a device"
    }
  }

  /// Whether nothing is held because the disk has too little space.
  package var isDiskFull: Bool {
    guard bytes == 0, obstacle == nil else { return false }
    if state.withLock({ $0.failure?.isDiskFull ?? false }) { return true }
    guard let space = try? disk.space(DurableFile.parent(of: path)) else { return false }
    return space.available / 2 < Self.size(of: space)
  }

  /// Why nothing is held on a disk that has space; nil if something is held, or the disk is full.
  package var fault: String? {
    if let obstacle { return "\(path) is \(obstacle); remove it" }
    guard bytes == 0, !isDiskFull else { return nil }
    return state.withLock { $0.failure?.description }
  }

  /// Creates the file if it is missing or has too few blocks, and the disk has twice the space that this takes.
  /// - Returns: whether anything is held now.
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
        // Something else may be at the path by now: opening a pipe would block, and a link's target would be written to.
        let file = try Kernel.open(path, [.write, .create, .noFollow, .nonBlocking], mode: 0o600)
        guard try Kernel.status(file).kind == .file else { return false }
        do throws(SystemError) {
          try Kernel.allocate(file, bytes: size, path: path)
          return true
        } catch {
          // A partly allocated file may take the space that is needed elsewhere. The next attempt comes later.
          try? Kernel.remove(path)
          throw error
        }
      } catch {
        state.failure = error
        return false
      }
    }
  }

  /// Gives up the reserve.
  /// - Returns: whether there was anything to give up.
  func release() -> Bool {
    state.withLock { state in
      guard bytes > 0, (try? Kernel.remove(path)) != nil else { return false }
      state.releases += 1
      return true
    }
  }

  /// Runs `body`. If the disk is full, runs it once more with the reserve, or with what another act freed of it meanwhile.
  func lending<Result: ~Copyable>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    let before = state.withLock { $0.releases }
    do {
      return try body()
    } catch {
      func wasReleased() -> Bool { state.withLock { $0.releases } != before }
      // Another act may give the reserve up between the first look and this one's own attempt to.
      guard wasReleased() ? mayBeOutOfSpace(error) : isOutOfSpace(error) && (release() || wasReleased())
      else { throw error }
    }
    return try body()
  }

  /// Whether more space may help. SQLite reports a log that it can't create as one that it can't open, and one that it
  /// can't map as an I/O error.
  private func isOutOfSpace(_ error: StoreError) -> Bool {
    if case .diskFull = error { return true }
    guard mayBeOutOfSpace(error), let space = try? disk.space(DurableFile.parent(of: path)) else {
      return false
    }
    return space.available < Self.size(of: space) / 4
  }

  private func mayBeOutOfSpace(_ error: StoreError) -> Bool {
    switch error {
    case .diskFull, .database, .system: true
    default: false
    }
  }
}
