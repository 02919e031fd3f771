import System

/// Work that many may wait for at once: each piece is done once, a few at a time, on low-priority threads. Waiting takes no
/// thread, and requests are served in order.
final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Flight: Sendable {
    let make: @Sendable () -> Value
    var waiters: [@Sendable (Value) -> Void]
    var isRunning: Bool
  }

  private struct State: Sendable {
    var flights: [Key: Flight] = [:]
    /// Pieces that aren't running yet, each kind in the order of their requests.
    var urgent: [Key] = []
    var ordinary: [Key] = []
    /// How many urgent pieces have begun since the last other one.
    var urgentInARow = 0
    /// Urgent pieces that were requested and aren't done yet.
    var pendingUrgent: Set<Key> = []
    var isStopped = false

    /// Returns the next piece to run. Urgent ones come first, but can't starve the others.
    mutating func next() -> Key? {
      if !urgent.isEmpty, urgentInARow < SingleFlight.maxUrgentInARow || ordinary.isEmpty {
        urgentInARow += 1
        return urgent.removeFirst()
      }
      urgentInARow = 0
      return ordinary.isEmpty ? nil : ordinary.removeFirst()
    }

    mutating func dequeue(_ key: Key) {
      urgent.removeAll { $0 == key }
      ordinary.removeAll { $0 == key }
    }
  }

  /// How many urgent pieces are made for each of the others.
  private static var maxUrgentInARow: Int { 4 }

  private let state = Monitor(State())
  private let maxWaiting: Int

  /// - Parameters:
  ///   - threads: how many pieces are made at a time.
  ///   - maxWaiting: how many pieces may wait; requests beyond that are refused.
  ///   - name: of the threads.
  ///   - priority: of the threads.
  init(
    threads: Int, maxWaiting: Int, name: String = "answers", _ priority: OSThread.Priority = .awaited
  ) throws(SystemError) {
    self.maxWaiting = maxWaiting
    do throws(SystemError) {
      for number in 0..<threads {
        _ = try OSThread(name: "\(name)-\(number)") { [state] in
          OSThread.lowerPriority(to: priority)
          Self.work(state)
        }
      }
    } catch {
      state.broadcasting { $0.isStopped = true }
      throw error
    }
  }

  deinit { state.broadcasting { $0.isStopped = true } }

  /// Requests a piece, or joins an earlier request.
  ///
  /// If `isUrgent` is true, the piece comes before those that aren't, however many wait, and background work waits for it.
  /// `completion` gets the piece, on the thread that made it.
  ///
  /// - Returns: false if too many are waiting; then nothing is done.
  func request(
    _ key: Key, isUrgent: Bool = false, make: @escaping @Sendable () -> Value,
    completion: @escaping @Sendable (Value) -> Void
  ) -> Bool {
    // Wakes all waiters: one that waits in `awaitUrgentWork` can't run a piece.
    state.broadcasting { state in
      if state.flights[key] != nil {
        state.flights[key]?.waiters.append(completion)
        if isUrgent { state.pendingUrgent.insert(key) }
        if isUrgent, let index = state.ordinary.firstIndex(of: key) {
          state.ordinary.remove(at: index)
          state.urgent.append(key)
        }
        return true
      }
      guard isUrgent || state.ordinary.count < maxWaiting else { return false }
      state.flights[key] = Flight(make: make, waiters: [completion], isRunning: false)
      if isUrgent {
        state.pendingUrgent.insert(key)
        state.urgent.append(key)
      } else {
        state.ordinary.append(key)
      }
      return true
    }
  }

  /// Makes a piece on this thread, or waits for another thread that is making it.
  func perform(_ key: Key, make: @escaping @Sendable () -> Value) -> Value {
    let made = Monitor<Value?>(nil)
    let isOwn = state.withLock { state in
      if state.flights[key]?.isRunning == true {
        state.flights[key]?.waiters.append { value in made.broadcasting { $0 = value } }
        return false
      }
      state.flights[key, default: Flight(make: make, waiters: [], isRunning: true)].isRunning = true
      state.dequeue(key)
      return true
    }
    guard isOwn else { return made.waiting { $0 } }
    // Others may wait for it, too, so it is completed even if this thread's client goes away.
    let value = Cancellation.$current.withValue(nil, operation: make)
    Self.complete(key, value, state)
    return value
  }

  /// The number of pieces waiting for their turn.
  var waiting: Int { state.withLock { $0.urgent.count + $0.ordinary.count } }

  /// Waits until no urgent piece is pending; background work does this before each step.
  /// - Returns: false if one still is after that time.
  func awaitUrgentWork(within duration: Duration) -> Bool {
    state.waiting(for: duration) { $0.pendingUrgent.isEmpty || $0.isStopped ? () : nil } != nil
  }

  private static func work(_ state: Monitor<State>) {
    while true {
      let next: (key: Key, make: @Sendable () -> Value)?? = state.waiting { state in
        if state.isStopped { return .some(nil) }
        guard let key = state.next(), let flight = state.flights[key] else { return nil }
        state.flights[key]?.isRunning = true
        return (key, flight.make)
      }
      guard let next, let (key, make) = next else { return }
      complete(key, make(), state)
    }
  }

  private static func complete(_ key: Key, _ value: Value, _ state: Monitor<State>) {
    let waiters = state.broadcasting { state in
      state.pendingUrgent.remove(key)
      return state.flights.removeValue(forKey: key)?.waiters ?? []
    }
    for waiter in waiters { waiter(value) }
  }
}
