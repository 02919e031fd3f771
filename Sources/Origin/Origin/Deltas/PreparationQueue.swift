import System

/// Runs preparations in the order of their requests, two at a time, and one more for a rollback.
///
/// While others wait, a token has only one running. A preparation that nobody waits for any more is abandoned.
final class PreparationQueue: Sendable {
  private struct Item: Sendable {
    let preparation: Preparation
    var isUrgent: Bool
  }

  private struct State: Sendable {
    /// Those that are remembered, so that a publisher can ask for their progress; oldest first.
    var known: [Preparation] = []
    /// Oldest first.
    var waiting: [Item] = []
    var running: [Preparation] = []
    /// The number of threads, and whether there is one for rollbacks.
    var threads = 0
    var hasUrgentThread = false
    var isStopping = false

    /// Removes and returns the next one; nil if none waits for such a thread.
    mutating func next(onlyUrgent: Bool) -> Preparation? {
      dropUnwanted()
      var index = waiting.firstIndex { $0.isUrgent }
      if !onlyUrgent {
        let busy = Set(running.compactMap(\.subject?.owner))
        index =
          index
          ?? waiting.firstIndex { item in item.preparation.subject.map { !busy.contains($0.owner) } ?? true }
        index = index ?? waiting.indices.first
      }
      guard let index else { return nil }
      let preparation = waiting.remove(at: index).preparation
      running.append(preparation)
      return preparation
    }

    /// Abandons what nobody waits for.
    mutating func dropUnwanted() {
      for item in waiting where !item.preparation.checkIsWanted() { forget(item.preparation) }
    }

    mutating func forget(_ preparation: Preparation) {
      preparation.abandon()
      known.removeAll { $0 === preparation }
      waiting.removeAll { $0.preparation === preparation }
    }

    /// Remembers a new one, and abandons the oldest of the token that has most if there are too many.
    mutating func remember(_ new: Preparation) {
      known.append(new)
      guard known.count > PreparationQueue.maxKnown else { return }
      let counts = Dictionary(grouping: known) { $0.subject?.owner }.mapValues(\.count)
      let largest = counts.values.max() ?? 0
      if let oldest = known.first(where: { counts[$0.subject?.owner] == largest }) { forget(oldest) }
    }
  }

  private static let maxKnown = 32
  private static let maxRunning = 2
  private let state = Monitor(State())
  private let run: @Sendable (Preparation) -> Void

  /// - Parameter run: does the work of a preparation; called on a thread of the queue.
  init(_ run: @escaping @Sendable (Preparation) -> Void) { self.run = run }

  /// Those that are remembered, oldest first.
  var known: [Preparation] { state.withLock { $0.known } }

  /// Waits until none is waiting or running.
  /// - Returns: false if the queue was stopped.
  func awaitIdle() -> Bool {
    state.waiting { state in
      state.isStopping ? false : state.waiting.isEmpty && state.running.isEmpty ? true : nil
    }
  }

  /// Adds a preparation, unless there is one with its id, and returns the one to wait for.
  func add(_ new: Preparation, isUrgent: Bool) -> Preparation {
    let preparation = state.withLock { state -> Preparation in
      if let known = state.known.first(where: { $0.id == new.id }), known.checkIsWanted() {
        if isUrgent, let index = state.waiting.firstIndex(where: { $0.preparation === known }) {
          state.waiting[index].isUrgent = true
        }
        known.noteInterest()
        return known
      }
      state.known.removeAll { $0.id == new.id }
      for old in state.known where new.subject != nil && old.subject == new.subject { old.supersede() }
      state.remember(new)
      state.waiting.append(Item(preparation: new, isUrgent: isUrgent))
      return new
    }
    startThreads(isUrgent: isUrgent)
    return preparation
  }

  /// Abandons all of them.
  func stop() {
    state.broadcasting { state in
      state.isStopping = true
      state.waiting = []
      for preparation in state.known + state.running { preparation.abandon() }
    }
  }

  private func startThreads(isUrgent: Bool) {
    let (startsUrgent, starts) = state.withLock { state in
      let urgent = isUrgent && !state.hasUrgentThread
      if urgent { state.hasUrgentThread = true }
      let ordinary = !urgent && state.threads < Self.maxRunning
      if ordinary { state.threads += 1 }
      return (urgent, ordinary)
    }
    if startsUrgent { start(onlyUrgent: true) }
    if starts { start(onlyUrgent: false) }
  }

  private func start(onlyUrgent: Bool) {
    do throws(SystemError) {
      _ = try OSThread(name: "prepare") { [self] in
        // Its threads inherit that.
        if !onlyUrgent { OSThread.lowerPriority(to: .awaited) }
        work(onlyUrgent: onlyUrgent)
      }
    } catch {
      // Without a thread, nothing is prepared; devices fetch whole files.
      let stuck = state.broadcasting { state in
        if onlyUrgent { state.hasUrgentThread = false } else { state.threads -= 1 }
        guard state.threads == 0, !state.hasUrgentThread else { return [Item]() }
        defer { state.waiting = [] }
        return state.waiting
      }
      for item in stuck { item.preparation.giveUp() }
    }
  }

  private func work(onlyUrgent: Bool) {
    while let next = takeNext(onlyUrgent: onlyUrgent) {
      run(next)
      state.broadcasting { state in
        state.running.removeAll { $0 === next }
        if next.status.isAbandoned { state.forget(next) }
      }
    }
  }

  /// Returns the next preparation; nil if the thread is to end.
  private func takeNext(onlyUrgent: Bool) -> Preparation? {
    state.broadcasting { state in
      if !state.isStopping, let next = state.next(onlyUrgent: onlyUrgent) { return next }
      if onlyUrgent { state.hasUrgentThread = false } else { state.threads -= 1 }
      return nil
    }
  }
}
