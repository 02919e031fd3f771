import System

/// Has the disk write many small files while others still arrive, so that the release, which waits for the last of them,
/// finds most of them written.
///
/// Nothing depends on it: a release syncs the file system all the same, and a failed write is told there, since each open
/// file is told of it once (syncfs(2)) and this one's is another.
final class Writeback: Sendable {
  private struct State: Sendable {
    /// Files since the last round.
    var files = 0
    var isRunning = false
  }

  private let round: @Sendable () -> Void
  private let state = Locked(State())

  /// Files that are worth a round: each ends a transaction of the file system, too.
  static let worthIt = 10_000

  /// - Parameter round: has the disk write what was made; called on a thread of its own, one call at a time.
  init(_ round: @escaping @Sendable () -> Void) { self.round = round }

  convenience init(folder: String) {
    self.init {
      if let file = try? Kernel.open(folder, [.read, .directory]) { try? Kernel.syncFileSystem(file) }
    }
  }

  /// So many more files were made.
  func made(_ files: Int) {
    let begins = state.withLock { state in
      state.files += files
      guard state.files >= Self.worthIt, !state.isRunning else { return false }
      state = State(files: 0, isRunning: true)
      return true
    }
    if begins { run() }
  }

  private func run() {
    let thread = try? OSThread(name: "writeback") { [self] in
      round()
      state.withLock { $0.isRunning = false }
    }
    if thread == nil { state.withLock { $0.isRunning = false } }
  }
}
