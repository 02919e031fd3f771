import Manifests
import OriginAPI
import Store

/// What devices did in the last 24 hours that are over. It is read from the database once an hour, so that an overview reads no row for
/// it, and its numbers stand still in between.
struct FleetTrends: Sendable {
  private struct Known: Sendable {
    /// The versions that count as the newest.
    let versions: [Int64]
    let trend: FleetOverview.Trend
  }

  /// The first hour of `counts`, in hours since 1970; nil: nothing was read yet.
  private var first: Int64?
  /// By the channel's row.
  private var counts: [Int64: HourlyCounts] = [:]
  private var known: [Int64: Known] = [:]

  static let hours = 24
  /// Milliseconds after an hour for which it isn't over yet: counts are written every ten seconds.
  private static let delay: Int64 = 60_000

  /// The trends of channels by their rows; channels without polls and failures are absent.
  mutating func trends(of channels: [ChannelInfo], _ store: Store) throws(StoreError)
    -> [Int64: FleetOverview.Trend]
  {
    let first = (store.now - Self.delay) / 3_600_000 - Int64(Self.hours)
    if self.first != first {
      counts = try store.hourlyCounts(from: first, hours: Self.hours)
      (known, self.first) = ([:], first)
    }
    var trends: [Int64: FleetOverview.Trend] = [:]
    for channel in channels {
      guard let counts = counts[channel.id] else { continue }
      let versions = channel.full.answeredVersions.map(\.number)
      if let known = known[channel.id], known.versions == versions {
        trends[channel.id] = known.trend
        continue
      }
      let trend = FleetOverview.Trend(
        polls: counts.polls(of: nil), newest: counts.polls(of: versions), failures: counts.failures)
      known[channel.id] = Known(versions: versions, trend: trend)
      trends[channel.id] = trend
    }
    return trends
  }
}
