/// A thread that works until it is told to stop; that wakes it at once from a pause.
package final class BackgroundThread: Sendable {
  private struct State: Sendable {
    var thread: OSThread?
    var isRunning = false
    var isStopping = false
  }

  private let state = Monitor(State())

  package init() {}

  /// Starts `body` at a priority below interactive work; `name` (15 bytes at most) shows in `top -H`.
  ///
  /// - Throws: EAGAIN if no more threads are allowed.
  package func start(
    _ name: String, _ priority: OSThread.Priority? = .background, _ body: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    state.withLock { $0.isRunning = true }
    do throws(SystemError) {
      let thread = try OSThread(name: name) { [state] in
        if let priority { OSThread.lowerPriority(to: priority) }
        body()
        state.broadcasting { $0.isRunning = false }
      }
      state.withLock { $0.thread = thread }
    } catch {
      state.withLock { $0.isRunning = false }
      throw error
    }
  }

  /// Whether the thread should end.
  package var isStopping: Bool { state.withLock { $0.isStopping } }

  /// Pauses; called on the thread itself.
  ///
  /// - Returns: false as soon as the thread should end.
  package func pause(for duration: Duration) -> Bool {
    state.waiting(for: duration) { $0.isStopping ? () : nil } == nil
  }

  /// Tells the thread to end, and returns at once.
  package func beginStopping() { state.broadcasting { $0.isStopping = true } }

  /// Tells the thread to end and waits until it has; called on another thread. Afterwards it can be started again.
  package func stop() {
    beginStopping()
    let thread = state.withLock { $0.thread.take() }
    thread?.join()
    state.withLock { $0.isStopping = false }
  }

  /// Tells the thread to end and waits until it has, but only so long.
  /// - Returns: false if it is still running; it ends later, or with the process.
  @discardableResult
  package func stop(within duration: Duration) -> Bool {
    beginStopping()
    guard state.waiting(for: duration, { $0.isRunning ? nil : true }) ?? false else { return false }
    stop()
    return true
  }
}

/// A blocking first-in, first-out queue of work.
package final class WorkQueue<Item: Sendable>: Sendable {
  private struct State: Sendable {
    var items: [Item] = []
    var isStopped = false
  }

  private let state = Monitor(State())

  package init() {}

  /// Adds an item at the end.
  package func add(_ item: Item) { state.signalling { $0.items.append(item) } }

  /// Returns the next item, or nil once the queue is stopped. Blocks while the queue is empty.
  package func next() -> Item? {
    let next: Item?? = state.waiting { state in
      if state.isStopped { return .some(nil) }
      return state.items.isEmpty ? nil : .some(state.items.removeFirst())
    }
    return next ?? nil
  }

  /// As `next`, but gives up after `duration`: nil if no item came, `.some(nil)` once the queue is stopped.
  package func next(within duration: Duration) -> Item?? {
    state.waiting(for: duration) { state in
      if state.isStopped { return .some(nil) }
      return state.items.isEmpty ? nil : .some(state.items.removeFirst())
    }
  }

  /// Stops the queue: current and later callers of `next` get no item.
  package func stop() { state.broadcasting { $0.isStopped = true } }

  /// Whether the queue is stopped.
  package var isStopped: Bool { state.withLock { $0.isStopped } }
}

extension WorkQueue where Item: Equatable {
  /// Adds an item at the end, unless it is already queued.
  package func addOnce(_ item: Item) {
    state.signalling { state in if !state.items.contains(item) { state.items.append(item) } }
  }
}
