/// The distance between the points of a chart.
package enum SeriesStep: String, Sendable, CaseIterable {
  case hour, day, week

  /// The hours from one point to the next.
  package var hours: Int64 {
    switch self {
    case .hour: 1
    case .day: 24
    case .week: 7 * 24
    }
  }

  /// 1 January 1970 was a Thursday, and weeks begin on Monday.
  private var shift: Int64 { self == .week ? 72 : 0 }

  /// The point that an hour (since 1970) belongs to.
  func point(ofHour hour: Int64) -> Int64 { (hour + shift) / hours }

  /// The first hour of a point.
  func hour(ofPoint point: Int64) -> Int64 { point * hours - shift }
}

/// The count of one kind between one point of a chart and the next.
package struct SeriesCount<Kind: Hashable & Sendable>: Hashable, Sendable {
  /// The point; 0 is the oldest.
  package let point: Int
  /// What was counted.
  package let kind: Kind
  /// The number.
  package let count: Int
}

/// Counts over time.
package struct CountSeries<Kind: Hashable & Sendable>: Sendable {
  /// When the first point begins, in milliseconds since 1970; the last point isn't over yet.
  package let start: Int64
  /// The counts; kinds that aren't listed at a point are 0.
  package let counts: [SeriesCount<Kind>]
}

extension Store {
  /// The polls of the last `points` points, by the version that they reported.
  package func pollSeries(of channel: ChannelInfo, _ step: SeriesStep, points: Int) throws(StoreError)
    -> CountSeries<Int64>
  {
    let first = step.point(ofHour: clock() / 3_600_000) - Int64(points) + 1
    let counts = try connections.reading { (db) throws(StoreError) in
      try db.all(
        "SELECT hour, version, polls FROM poll_count WHERE channel_id = ? AND hour >= ?", channel.id,
        step.hour(ofPoint: first)
      ) {
        (point: $0.get(0, as: Int64.self), kind: $0.get(1, as: Int64.self), count: $0.get(2, as: Int.self))
      }
    }
    return CountSeries(counts, step, first, points)
  }

  /// The failures of the last `points` points, by reason.
  package func failureSeries(of channel: ChannelInfo, _ step: SeriesStep, points: Int) throws(StoreError)
    -> CountSeries<String>
  {
    let first = step.point(ofHour: clock() / 3_600_000) - Int64(points) + 1
    let counts = try connections.reading { (db) throws(StoreError) in
      try db.all(
        "SELECT hour, reason, failures FROM failure_hour WHERE channel_id = ? AND hour >= ?", channel.id,
        step.hour(ofPoint: first)
      ) {
        (point: $0.get(0, as: Int64.self), kind: $0.get(1, as: String.self), count: $0.get(2, as: Int.self))
      }
    }
    return CountSeries(counts, step, first, points)
  }
}

extension CountSeries {
  /// Sums counts by point; in `hours`, `point` is the hour.
  fileprivate init(
    _ hours: [(point: Int64, kind: Kind, count: Int)], _ step: SeriesStep, _ first: Int64, _ points: Int
  ) {
    var sums = [[Kind: Int]](repeating: [:], count: points)
    for hour in hours {
      let point = Int(step.point(ofHour: hour.point) - first)
      // If the clock was set back, there are hours in the future.
      guard point < points else { continue }
      sums[point][hour.kind, default: 0] += hour.count
    }
    counts = sums.enumerated().flatMap { point, kinds in
      kinds.map { SeriesCount(point: point, kind: $0.key, count: $0.value) }
    }
    start = step.hour(ofPoint: first) * 3_600_000
  }
}
