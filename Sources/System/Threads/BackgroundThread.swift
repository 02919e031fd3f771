/// A thread that works until it is told to stop. Where it waits, it wakes at once when it is.
package final class BackgroundThread: Sendable {
  private struct State: Sendable {
    var thread: OSThread?
    var isStopping = false
  }

  private let state = Monitor(State())

  package init() {}

  /// Starts `body`, behind everything that somebody waits for; `name` (15 bytes at most) shows in `top -H`.
  ///
  /// - Throws: EAGAIN where no more threads are allowed.
  package func start(
    _ name: String, _ priority: OSThread.Priority? = .background, _ body: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    let thread = try OSThread(name: name) {
      if let priority { OSThread.lowerPriority(to: priority) }
      body()
    }
    state.withLock { $0.thread = thread }
  }

  /// Whether the thread is to end.
  package var isStopping: Bool { state.withLock { $0.isStopping } }

  /// Waits, on the thread itself.
  ///
  /// - Returns: false as soon as the thread is to end.
  package func pause(for duration: Duration) -> Bool {
    state.waiting(for: duration) { $0.isStopping ? () : nil } == nil
  }

  /// Tells the thread to end, and comes back at once.
  package func beginStopping() { state.broadcasting { $0.isStopping = true } }

  /// Tells the thread to end and waits until it has; another thread calls it. Then it can be started again.
  package func stop() {
    beginStopping()
    let thread = state.withLock { $0.thread.take() }
    thread?.join()
    state.withLock { $0.isStopping = false }
  }
}

/// Pieces of work that wait for their turn.
package final class WorkQueue<Item: Sendable>: Sendable {
  private struct State: Sendable {
    var items: [Item] = []
    var isStopped = false
  }

  private let state = Monitor(State())

  package init() {}

  /// Puts an item behind the others.
  package func add(_ item: Item) { state.signalling { $0.items.append(item) } }

  /// The item whose turn it is; nil once the queue is stopped. Blocks while there is none.
  package func next() -> Item? {
    let next: Item?? = state.waiting { state in
      if state.isStopped { return .some(nil) }
      return state.items.isEmpty ? nil : .some(state.items.removeFirst())
    }
    return next ?? nil
  }

  /// As `next`; `.some(nil)` once the queue is stopped, nil where none came for so long.
  package func next(within duration: Duration) -> Item?? {
    state.waiting(for: duration) { state in
      if state.isStopped { return .some(nil) }
      return state.items.isEmpty ? nil : .some(state.items.removeFirst())
    }
  }

  /// Whoever waits for an item, or comes for one, gets none any more.
  package func stop() { state.broadcasting { $0.isStopped = true } }

  /// Whether nobody gets an item any more.
  package var isStopped: Bool { state.withLock { $0.isStopped } }
}

extension WorkQueue where Item: Equatable {
  /// Puts an item behind the others, unless it waits already.
  package func addOnce(_ item: Item) {
    state.signalling { state in if !state.items.contains(item) { state.items.append(item) } }
  }
}
