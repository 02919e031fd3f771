import System

/// How much one network counts in an arm, at most. Reports are anonymous, and whoever has one network can send any number of them.
///
/// In an arm a network counts with at most `share` of each hour's openings, and with at most `share` of each day's failures (UTC), as
/// they count then; but with one in any case. So where there are few failures, each network has one.
///
/// The two times differ because openings are compared hour by hour: who could put all those of a day into one hour would decide it.
/// Failures are few, and what an attacker may add to them in any case shall be little.
package struct NetworkCap: Hashable, Sendable {
  /// The most that a network counts, in parts of 10,000.
  package let share: Int

  /// One network counts 5 % at most.
  package static let standard = NetworkCap(checked: 500)

  private init(checked share: Int) { self.share = share }

  /// Creates a cap; nil for a share outside of 1 to 10,000. With 10,000 every report counts: for fleets that are in few networks.
  package init?(share: Int) {
    guard (1...10_000).contains(share) else { return nil }
    self.share = share
  }

  /// Returns the most that one of these counts may weigh: the largest number that is `share` of the sum of all counts, each cut to it,
  /// or 1 if that is more.
  ///
  /// A single large count doesn't raise its own limit: it is cut before it is added.
  package func limit(_ counts: [Int64]) -> Double {
    let counts = counts.sorted(by: >)
    var rest = counts.reduce(0.0) { $0 + Double($1) }
    // If the n largest are cut to the limit, it is share / 10,000 · (n · limit + the sum of the others).
    var left = 10_000.0
    for count in counts {
      let limit = Double(share) * rest / left
      // Always so once `left` is `share` at most, so `left` stays positive.
      if Double(count) <= limit { return max(1, limit) }
      rest -= Double(count)
      left -= Double(share)
    }
    return 1
  }

  /// Returns what is counted of the rows. All rows of a day must be there.
  package func counted(_ rows: [EvidenceRow]) -> CountedRows {
    let opened = weights(rows, \.opened) { $0.hour }
    let failed = weights(rows, \.failed) { $0.day }
    var hours: [Int64: EvidenceHour] = [:]
    var openings = CountedOpenings()
    for row in rows {
      // Neither is more than what was stored.
      let sums = CountedSums(
        opened: Double(row.opened) * (opened[Key(row, row.hour)] ?? 0),
        failed: Double(row.failed) * (failed[Key(row, row.day)] ?? 0))
      hours[row.hour, default: EvidenceHour(hour: row.hour)].add(sums ?? .none, to: row.arm)
      openings.reported = openings.reported.addingClamped(row.opened)
      openings.counted += sums?.opened ?? 0
    }
    let cut = opened.keys.filter { opened[$0] ?? 1 < 1 }
    let days = Dictionary(grouping: cut) { $0.cell.time / 24 }
    openings.networks = days.values.map { Set($0.map(\.network)).count }.max() ?? 0
    return CountedRows(hours: hours.values.sorted { $0.hour < $1.hour }, openings: openings)
  }

  /// Returns what is counted of the rows, by hour. All rows of a day must be there.
  package func hours(_ rows: [EvidenceRow]) -> [EvidenceHour] { counted(rows).hours }

  private struct Cell: Hashable {
    let time: Int64
    let arm: RolloutArm
  }

  private struct Key: Hashable {
    let cell: Cell
    let network: UInt64

    init(_ row: EvidenceRow, _ time: Int64) {
      cell = Cell(time: time, arm: row.arm)
      network = row.network
    }
  }

  /// Returns which part of a network's counts counts, in each arm and time.
  private func weights(
    _ rows: [EvidenceRow], _ count: KeyPath<EvidenceRow, Int64>, _ time: (EvidenceRow) -> Int64
  ) -> [Key: Double] {
    var sums: [Key: Int64] = [:]
    for row in rows {
      let key = Key(row, time(row))
      sums[key] = (sums[key] ?? 0).addingClamped(row[keyPath: count])
    }
    let limits = Dictionary(grouping: sums, by: \.key.cell).mapValues { limit($0.map(\.value)) }
    return Dictionary(
      uniqueKeysWithValues: sums.map { key, sum in
        let limit = limits[key.cell] ?? 0
        return (key, Double(sum) <= limit ? 1 : limit / Double(sum))
      })
  }
}

/// What is counted of networks' rows.
package struct CountedRows: Hashable, Sendable {
  /// In their order.
  package let hours: [EvidenceHour]
  /// What is counted of the openings, and what isn't.
  package let openings: CountedOpenings
}

/// How many openings were reported, and how many of them count.
package struct CountedOpenings: Hashable, Sendable {
  /// How many were reported, in both arms.
  package fileprivate(set) var reported: Int64 = 0
  /// How many of them count.
  package fileprivate(set) var counted = 0.0
  /// How many networks the others came from, on the day with the most: those of different days can't be told apart.
  package fileprivate(set) var networks = 0

  /// Whether more than half aren't counted, of a number that says something: the fleet is in few networks, or appears to be.
  package var areMostlyLeftOut: Bool { reported >= 50 && counted * 2 < Double(reported) }

  /// No openings.
  package init() {}
}
