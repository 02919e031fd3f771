import System

/// Writes many small files to the disk while others still arrive, so that the release, which waits for the last of
/// them, finds most of them written.
///
/// Nothing depends on it: the release syncs the file system anyway, and a failed write is reported there, too, because
/// each open file gets the error once (syncfs(2)) and this one is separate.
final class Writeback: Sendable {
  private struct State: Sendable {
    /// Files since the last round.
    var files = 0
    var isRunning = false
  }

  private let round: @Sendable () -> Void
  private let state = Locked(State())

  /// Files that are worth a round, because each round also ends a transaction of the file system.
  static let worthIt = 10_000

  /// - Parameter round: writes the created files to the disk; called on its own thread, one call at a time.
  init(_ round: @escaping @Sendable () -> Void) { self.round = round }

  convenience init(folder: String) {
    self.init {
      if let file = try? Kernel.open(folder, [.read, .directory]) { try? Kernel.syncFileSystem(file) }
    }
  }

  /// Notes that more files were created.
  func made(_ files: Int) {
    let shouldRun = state.withLock { state in
      state.files += files
      guard state.files >= Self.worthIt, !state.isRunning else { return false }
      state = State(files: 0, isRunning: true)
      return true
    }
    if shouldRun { run() }
  }

  private func run() {
    let thread = try? OSThread(name: "writeback") { [self] in
      round()
      state.withLock { $0.isRunning = false }
    }
    if thread == nil { state.withLock { $0.isRunning = false } }
  }
}
