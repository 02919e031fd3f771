import System

/// What a channel's answers are made of, as far as it is in memory: it comes when it is asked for, and may go.
///
/// The catalog and every event loop's copy of it name the same one, so that what goes is gone at once, and what comes
/// makes nothing old that is remembered of polls.
final class ResidentManifest: Sendable {
  private struct State: Sendable {
    var map: ManifestMap?
    var whole: WholeManifest?
    var info: CodedDocument?
    /// Monotonic nanoseconds: when it was last added to.
    var keptAt: UInt64 = 0
    var isRetired = false
  }

  private let state: Locked<State>

  init(_ map: ManifestMap? = nil) {
    state = Locked(State(map: map, keptAt: Clock.monotonicNanoseconds()))
  }

  var map: ManifestMap? { state.withLock { $0.map } }
  /// The whole manifest, once its codings are made.
  var whole: WholeManifest? { state.withLock { $0.whole } }
  /// The list of files, once somebody asked for it.
  var info: CodedDocument? { state.withLock { $0.info } }

  var isInMemory: Bool { state.withLock { $0.map != nil || $0.whole != nil || $0.info != nil } }

  func keep(map: ManifestMap) { keep { $0.map = map } }
  func keep(whole: WholeManifest) { keep { $0.whole = whole } }
  func keep(info: CodedDocument) { keep { $0.info = info } }

  private func keep(_ change: (inout State) -> Void) {
    state.withLock { state in
      if state.isRetired { return }
      change(&state)
      state.keptAt = Clock.monotonicNanoseconds()
    }
  }

  /// Lets go of everything that was kept before a moment and hasn't been added to since.
  /// - Returns: whether anything went.
  func drop(keptBefore moment: UInt64) -> Bool {
    state.withLock { state in
      guard state.keptAt < moment, state.map != nil || state.whole != nil || state.info != nil else {
        return false
      }
      (state.map, state.whole, state.info) = (nil, nil, nil)
      return true
    }
  }

  /// Another one took its place: what is still worked out of this one is not kept.
  func retire() { state.withLock { $0 = State(isRetired: true) } }
}
