import System

/// The parts of a channel's answers that are in memory: loaded on demand, and droppable.
///
/// The catalog and every event loop's copy of it share one instance: what is dropped is gone at once, and adding to it
/// doesn't invalidate what is remembered of polls.
final class ResidentManifest: Sendable {
  private struct State: Sendable {
    var map: ManifestMap?
    var whole: WholeManifest?
    var rendered: RenderedMap?
    var info: CodedDocument?
    /// When it was last added to, in monotonic nanoseconds.
    var keptAt: UInt64 = 0
    var isRetired = false

    var isInMemory: Bool { map != nil || whole != nil || rendered != nil || info != nil }
  }

  private let state: Locked<State>

  init(_ map: ManifestMap? = nil) {
    state = Locked(State(map: map, keptAt: Clock.monotonicNanoseconds()))
  }

  var map: ManifestMap? { state.withLock { $0.map } }
  /// The whole manifest, once it is coded.
  var whole: WholeManifest? { state.withLock { $0.whole } }
  /// The coded resourcemap of a whole manifest whose surroundings have to be made again.
  var rendered: RenderedMap? { state.withLock { $0.rendered } }
  /// The list of files, once it has been requested.
  var info: CodedDocument? { state.withLock { $0.info } }

  var isInMemory: Bool { state.withLock(\.isInMemory) }

  func keep(map: ManifestMap) { keep { $0.map = map } }
  func keep(whole: WholeManifest) { keep { ($0.whole, $0.rendered) = (whole, nil) } }
  func keep(rendered: RenderedMap) { keep { if $0.whole == nil { $0.rendered = rendered } } }
  func keep(info: CodedDocument) { keep { $0.info = info } }

  /// Has the whole manifest made again from its coded map, which stays.
  /// - Returns: whether there was one.
  func renewWhole() -> Bool {
    state.withLock { state in
      guard let whole = state.whole else { return false }
      (state.whole, state.rendered) = (nil, whole.map)
      return true
    }
  }

  private func keep(_ change: (inout State) -> Void) {
    state.withLock { state in
      if state.isRetired { return }
      change(&state)
      state.keptAt = Clock.monotonicNanoseconds()
    }
  }

  /// Drops everything if nothing was added since a moment.
  /// - Returns: whether anything was dropped.
  func drop(keptBefore moment: UInt64) -> Bool {
    state.withLock { state in
      guard state.keptAt < moment, state.isInMemory else { return false }
      (state.map, state.whole, state.rendered, state.info) = (nil, nil, nil, nil)
      return true
    }
  }

  /// Retires a replaced instance: what is still computed for it isn't kept.
  func retire() { state.withLock { $0 = State(isRetired: true) } }
}
