/// The tasks that an engine has started and not stopped, each under the number of its answer.
///
/// An engine terminates an app that answers a stopped task, and may allocate a new task at the address of an old one, so
/// answers find their task by a number that is never reused.
struct LiveTasks<Key: Hashable, Value> {
  private var numbers: [Key: Int] = [:]
  private var values: [Int: Value] = [:]
  private var next = 0

  init() {}

  var count: Int { values.count }

  /// Adds a task that the engine started, and returns its number.
  mutating func start(_ key: Key, _ value: Value) -> Int {
    if let former = numbers[key] { values[former] = nil }
    next += 1
    numbers[key] = next
    values[next] = value
    return next
  }

  /// The task with a number; nil if it was stopped or is finished.
  subscript(number: Int) -> Value? { values[number] }

  /// Removes and returns a task that has been answered.
  mutating func finish(_ number: Int) -> Value? {
    guard let value = values.removeValue(forKey: number) else { return nil }
    if let key = numbers.first(where: { $0.value == number })?.key { numbers[key] = nil }
    return value
  }

  /// Removes a task that the engine stopped, and returns its number.
  mutating func stop(_ key: Key) -> Int? {
    guard let number = numbers.removeValue(forKey: key) else { return nil }
    values[number] = nil
    return number
  }
}
