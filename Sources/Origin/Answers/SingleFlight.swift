import System

/// Work that many may wait for at once: each piece is done once, few at a time, on threads of low priority. Who waits for
/// it holds no thread.
final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Flight: Sendable {
    let make: @Sendable () -> Value
    var waiters: [@Sendable (Value) -> Void]
    var isRunning: Bool
  }

  private struct State: Sendable {
    var flights: [Key: Flight] = [:]
    /// Those that don't run yet.
    var queue: [Key] = []
    var isStopped = false
  }

  private let state = Monitor(State())
  private let crowd: Int

  /// - Parameters:
  ///   - threads: pieces that are made at a time.
  ///   - crowd: pieces that may wait; whoever asks for one more is told so.
  init(threads: Int, crowd: Int) throws(SystemError) {
    self.crowd = crowd
    do throws(SystemError) {
      for number in 0..<threads {
        _ = try OSThread(name: "answers-\(number)") { [state] in
          OSThread.lowerPriority(to: .background)
          Self.work(state)
        }
      }
    } catch {
      state.broadcasting { $0.isStopped = true }
      throw error
    }
  }

  deinit { state.broadcasting { $0.isStopped = true } }

  /// Asks for a piece; joins whoever did already.
  ///
  /// - Parameters:
  ///   - isUrgent: it comes before the others, however many wait.
  ///   - then: is given the piece, on the thread that made it.
  /// - Returns: false where too many wait; then nothing is done.
  func ask(
    _ key: Key, isUrgent: Bool = false, make: @escaping @Sendable () -> Value,
    then: @escaping @Sendable (Value) -> Void
  ) -> Bool {
    state.signalling { state in
      if state.flights[key] != nil {
        state.flights[key]?.waiters.append(then)
        return true
      }
      guard isUrgent || state.queue.count < crowd else { return false }
      state.flights[key] = Flight(make: make, waiters: [then], isRunning: false)
      state.queue.insert(key, at: isUrgent ? 0 : state.queue.count)
      return true
    }
  }

  /// Makes a piece on this thread, unless another one makes it just now: then waits for that.
  func perform(_ key: Key, make: @escaping @Sendable () -> Value) -> Value {
    let made = Monitor<Value?>(nil)
    let isOwn = state.withLock { state in
      if state.flights[key]?.isRunning == true {
        state.flights[key]?.waiters.append { value in made.broadcasting { $0 = value } }
        return false
      }
      state.flights[key, default: Flight(make: make, waiters: [], isRunning: true)].isRunning = true
      state.queue.removeAll { $0 == key }
      return true
    }
    guard isOwn else { return made.waiting { $0 } }
    let value = make()
    Self.land(key, value, state)
    return value
  }

  /// Pieces that wait for their turn.
  var waiting: Int { state.withLock { $0.queue.count } }

  private static func work(_ state: Monitor<State>) {
    while true {
      let next: (key: Key, make: @Sendable () -> Value)?? = state.waiting { state in
        if state.isStopped { return .some(nil) }
        guard !state.queue.isEmpty else { return nil }
        let key = state.queue.removeFirst()
        guard let flight = state.flights[key] else { return nil }
        state.flights[key]?.isRunning = true
        return (key, flight.make)
      }
      guard let next, let (key, make) = next else { return }
      land(key, make(), state)
    }
  }

  private static func land(_ key: Key, _ value: Value, _ state: Monitor<State>) {
    let waiters = state.withLock { $0.flights.removeValue(forKey: key)?.waiters ?? [] }
    for waiter in waiters { waiter(value) }
  }
}
