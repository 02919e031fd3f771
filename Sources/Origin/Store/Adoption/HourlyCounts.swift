/// What a channel's devices did in some hours.
package struct HourlyCounts: Sendable {
  /// The polls that reported a version in an hour.
  private struct Polls: Sendable {
    let hour: Int
    let version: Int64
    let polls: Int64
  }

  private let hours: Int
  private var polls: [Polls] = []
  /// By the hour, the oldest first.
  package private(set) var failures: [Int64]

  fileprivate init(hours: Int) {
    self.hours = hours
    failures = [Int64](repeating: 0, count: hours)
  }

  /// The polls by the hour, the oldest first.
  /// - Parameter versions: only those that reported one of these; nil: all.
  package func polls(of versions: [Int64]?) -> [Int64] {
    var sums = [Int64](repeating: 0, count: hours)
    for count in polls where versions?.contains(count.version) ?? true { sums[count.hour] += count.polls }
    return sums
  }

  fileprivate mutating func addPolls(_ polls: Int64, of version: Int64, in hour: Int64) {
    guard hour >= 0, hour < Int64(hours) else { return }
    self.polls.append(Polls(hour: Int(hour), version: version, polls: polls))
  }

  fileprivate mutating func addFailures(_ failures: Int64, in hour: Int64) {
    guard hour >= 0, hour < Int64(hours) else { return }
    self.failures[Int(hour)] += failures
  }
}

extension Store {
  /// The polls and failures of all channels in some hours, by the channel's row; channels without any are absent.
  /// - Parameter first: the first hour, since 1970.
  package func hourlyCounts(from first: Int64, hours: Int) throws(StoreError) -> [Int64: HourlyCounts] {
    try connections.reading { (db) throws(StoreError) in
      var counts: [Int64: HourlyCounts] = [:]
      try db.each(
        "SELECT channel_id, version, hour, polls FROM poll_count WHERE hour >= ? AND hour < ?", first,
        first + Int64(hours)
      ) { row in
        counts[row.get(0), default: HourlyCounts(hours: hours)].addPolls(
          row.get(3), of: row.get(1), in: row.get(2, as: Int64.self) - first)
      }
      try db.each(
        "SELECT channel_id, hour, failures FROM failure_hour WHERE hour >= ? AND hour < ?", first,
        first + Int64(hours)
      ) { row in
        counts[row.get(0), default: HourlyCounts(hours: hours)].addFailures(
          row.get(2), in: row.get(1, as: Int64.self) - first)
      }
      return counts
    }
  }
}
