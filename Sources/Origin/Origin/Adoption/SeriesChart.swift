import OriginAPI
import Store

/// Counts over time as returned by the API: a limited number of series, each with a value per point.
struct SeriesChart {
  /// The maximum number of versions told apart.
  private static let maxVersions = 12

  private let points: Int
  private var polls: [Int64: [Int64]] = [:]

  init(points: Int) { self.points = points }

  /// Adds polls of a version at a point.
  mutating func add(_ version: Int64, _ count: Int, at point: Int) {
    guard (0..<points).contains(point) else { return }
    polls[version, default: [Int64](repeating: 0, count: points)][point] += Int64(count)
  }

  /// The newest version first; those with the fewest polls are combined as `other`.
  var versions: [AdoptionSeries.Version] {
    let sums = polls.filter { $0.key > 0 }.map { (version: $0.key, polls: $0.value.reduce(0, +)) }
    let shown = Set(
      sums.sorted { ($1.polls, $1.version) < ($0.polls, $0.version) }.prefix(Self.maxVersions).map(\.version)
    )
    var other = polls[PollCount.other]
    for (version, counts) in polls where version > 0 && !shown.contains(version) {
      other = zip(other ?? [Int64](repeating: 0, count: points), counts).map { $0 + $1 }
    }
    var lines = shown.sorted(by: >).map {
      AdoptionSeries.Version(version: String($0), polls: polls[$0] ?? [])
    }
    if let other { lines.append(.init(version: AdoptionService.name(PollCount.other), polls: other)) }
    if let none = polls[PollCount.none] {
      lines.append(.init(version: AdoptionService.name(PollCount.none), polls: none))
    }
    return lines
  }
}
