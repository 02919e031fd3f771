import System

/// Counts what a run does, reports its progress, and renews the origin's lease. Any thread may use it.
final class Meter: Sendable {
  private let source: any MirrorSource
  private let progress: @Sendable (MirrorProgress) -> Void
  private let state = Locked(State())

  private struct State {
    var held: UInt64 = 0
    var planned = (files: 0, bytes: Int64(0))
    var completed = (files: 0, bytes: Int64(0))
    var written = (files: 0, bytes: Int64(0))
  }

  /// The lease's duration in seconds; it is renewed after a sixth of that.
  private static let hold = 600

  init(_ source: any MirrorSource, _ progress: @escaping @Sendable (MirrorProgress) -> Void) {
    self.source = source
    self.progress = progress
  }

  /// Files and bytes written so far.
  var written: (Int, Int64) { state.withLock { ($0.written.files, $0.written.bytes) } }

  /// Takes the lease, or renews it when that is due.
  func hold() throws(MirrorError) {
    let now = Clock.monotonicNanoseconds()
    let isDue = state.withLock { state in
      guard state.held == 0 || now - state.held > UInt64(Self.hold / 6) * 1_000_000_000 else { return false }
      state.held = now
      return true
    }
    if isDue { try source.hold(Self.hold) }
  }

  /// Whether the origin has ended the lease, as a purge does, so that files that were named may be gone.
  var hasLostLease: Bool {
    do throws(MirrorError) {
      try source.hold(Self.hold)
      return false
    } catch {
      return error.isLostLease
    }
  }

  /// Adds to the totals that are planned.
  func plan(_ files: Int, _ bytes: Int64) {
    state.withLock { state in
      state.planned.files += files
      state.planned.bytes = state.planned.bytes.addingClamped(bytes)
    }
  }

  /// Records that a planned file was written.
  func completed(_ bytes: Int64) throws(MirrorError) {
    wrote(bytes)
    let done = state.withLock { state in
      state.completed.files += 1
      state.completed.bytes = state.completed.bytes.addingClamped(bytes)
      return MirrorProgress(
        files: state.completed.files, filesTotal: state.planned.files, bytes: state.completed.bytes,
        bytesTotal: state.planned.bytes)
    }
    progress(done)
    try hold()
  }

  func wrote(_ bytes: Int64) {
    state.withLock { state in
      state.written.files += 1
      state.written.bytes = state.written.bytes.addingClamped(bytes)
    }
  }
}
