import System

/// Work that many may wait for at once: each piece is done once, few at a time, on threads of low priority. Who waits for
/// it holds no thread, and who asked first is served first.
final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Flight: Sendable {
    let make: @Sendable () -> Value
    var waiters: [@Sendable (Value) -> Void]
    var isRunning: Bool
  }

  private struct State: Sendable {
    var flights: [Key: Flight] = [:]
    /// Those that don't run yet, each kind in the order in which they were asked for.
    var urgent: [Key] = []
    var others: [Key] = []
    /// Urgent ones that were begun since one of the others was.
    var turns = 0
    /// Urgent ones that were asked for and aren't made yet.
    var asked: Set<Key> = []
    var isStopped = false

    /// The piece whose turn it is. Urgent ones come first, and can't keep the others waiting for good.
    mutating func next() -> Key? {
      if !urgent.isEmpty, turns < SingleFlight.turnsOfUrgent || others.isEmpty {
        turns += 1
        return urgent.removeFirst()
      }
      turns = 0
      return others.isEmpty ? nil : others.removeFirst()
    }

    mutating func takeOut(_ key: Key) {
      urgent.removeAll { $0 == key }
      others.removeAll { $0 == key }
    }
  }

  /// Urgent pieces that are made for each of the others.
  private static var turnsOfUrgent: Int { 4 }

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
          OSThread.lowerPriority(to: .awaited)
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
  ///   - isUrgent: it comes before those that aren't, however many wait, and what is made before anybody asks waits for it.
  ///   - then: is given the piece, on the thread that made it.
  /// - Returns: false where too many wait; then nothing is done.
  func ask(
    _ key: Key, isUrgent: Bool = false, make: @escaping @Sendable () -> Value,
    then: @escaping @Sendable (Value) -> Void
  ) -> Bool {
    // All: who waits until nobody asks is no one to wake for a piece.
    state.broadcasting { state in
      if state.flights[key] != nil {
        state.flights[key]?.waiters.append(then)
        if isUrgent { state.asked.insert(key) }
        if isUrgent, let place = state.others.firstIndex(of: key) {
          state.others.remove(at: place)
          state.urgent.append(key)
        }
        return true
      }
      guard isUrgent || state.others.count < crowd else { return false }
      state.flights[key] = Flight(make: make, waiters: [then], isRunning: false)
      if isUrgent {
        state.asked.insert(key)
        state.urgent.append(key)
      } else {
        state.others.append(key)
      }
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
      state.takeOut(key)
      return true
    }
    guard isOwn else { return made.waiting { $0 } }
    let value = make()
    Self.land(key, value, state)
    return value
  }

  /// Pieces that wait for their turn.
  var waiting: Int { state.withLock { $0.urgent.count + $0.others.count } }

  /// Waits until no urgent piece is asked for, as what nobody asked for does before each of its steps.
  /// - Returns: false where one still is after that time.
  func awaitNoneAsked(within duration: Duration) -> Bool {
    state.waiting(for: duration) { $0.asked.isEmpty || $0.isStopped ? () : nil } != nil
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
      land(key, make(), state)
    }
  }

  private static func land(_ key: Key, _ value: Value, _ state: Monitor<State>) {
    let waiters = state.broadcasting { state in
      state.asked.remove(key)
      return state.flights.removeValue(forKey: key)?.waiters ?? []
    }
    for waiter in waiters { waiter(value) }
  }
}
