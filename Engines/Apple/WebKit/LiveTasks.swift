/// The tasks that an engine has started and not stopped, each under the number of its answer.
///
/// An engine ends an app that answers a task which it has stopped, and may give a new task the place in memory of an old one: so
/// that an answer finds its task by a number that no other one ever has.
struct LiveTasks<Key: Hashable, Value> {
  private var numbers: [Key: Int] = [:]
  private var values: [Int: Value] = [:]
  private var next = 0

  init() {}

  var count: Int { values.count }

  /// The engine started a task.
  mutating func start(_ key: Key, _ value: Value) -> Int {
    if let former = numbers[key] { values[former] = nil }
    next += 1
    numbers[key] = next
    values[next] = value
    return next
  }

  /// The task of a number; nil: it was stopped, or has its answer.
  subscript(number: Int) -> Value? { values[number] }

  /// The task has its answer.
  mutating func finish(_ number: Int) -> Value? {
    guard let value = values.removeValue(forKey: number) else { return nil }
    if let key = numbers.first(where: { $0.value == number })?.key { numbers[key] = nil }
    return value
  }

  /// The engine stopped a task; gives its number.
  mutating func stop(_ key: Key) -> Int? {
    guard let number = numbers.removeValue(forKey: key) else { return nil }
    values[number] = nil
    return number
  }
}
