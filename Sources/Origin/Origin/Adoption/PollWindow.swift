import Store

/// The polls of the last hour by channel and version: a sliding window of minutes.
struct PollWindow {
  /// What polls are counted by.
  struct Key: Hashable {
    let channel: Int64
    let version: Int64
  }

  /// How many polls there were.
  struct Count: Hashable {
    var polls = 0
    /// What the number was worked out from.
    var sample = PollSample.none

    mutating func add(_ other: Count) {
      polls += other.polls
      sample.add(other.sample)
    }
  }

  private struct Minute {
    let number: UInt64
    var polls: [Key: Count]
  }

  private static let length: UInt64 = 60
  /// The maximum number of channels and versions told apart in one minute.
  private static let maxKeys = 4096
  private static let nanoseconds: UInt64 = 60_000_000_000

  /// Oldest first.
  private var minutes: [Minute] = []

  /// Adds polls that were just counted; `now` is in monotonic nanoseconds.
  mutating func add(_ polls: [Key: Count], now: UInt64) {
    drop(now)
    guard !polls.isEmpty else { return }
    let number = now / Self.nanoseconds
    if minutes.last?.number != number { minutes.append(Minute(number: number, polls: [:])) }
    for (key, count) in polls where minutes[minutes.count - 1].polls.count < Self.maxKeys {
      minutes[minutes.count - 1].polls[key, default: Count()].add(count)
    }
  }

  /// Returns the polls of each of the last minutes: how many minutes ago it began, and the counts.
  func minutes(_ count: UInt64 = Self.length, now: UInt64) -> [(age: Int, polls: [Key: Count])] {
    let number = now / Self.nanoseconds
    return minutes.compactMap { minute in
      guard minute.number <= number, number - minute.number < count else { return nil }
      return (Int(number - minute.number), minute.polls)
    }
  }

  /// Returns the polls of the last hour.
  mutating func sums(now: UInt64) -> [Key: Count] {
    drop(now)
    return minutes.reduce(into: [:]) { sums, minute in
      for (key, count) in minute.polls { sums[key, default: Count()].add(count) }
    }
  }

  private mutating func drop(_ now: UInt64) {
    let number = now / Self.nanoseconds
    minutes.removeAll { $0.number + Self.length <= number }
  }
}
