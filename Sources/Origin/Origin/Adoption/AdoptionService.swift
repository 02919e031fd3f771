import Manifests
import Store
import Synchronization
import System

/// Counts what devices report: the versions in their polls, failures, batches of counts, and what a rollout came to. Devices aren't told
/// apart.
final class AdoptionService: Sendable {
  let store: Store
  let log: @Sendable (String) -> Void
  private let counters = Locked<[PollCounter]>([])
  private let failures = Locked<[FailureKey: Int]>([:])
  private let reports = Locked<[ReportKey: DeviceCounts]>([:])
  /// Whether a shared cache answers the polls, so that these are worked out from batches.
  let isBehindCache: Bool
  private let sampled = Locked(SampledPolls())
  /// What was reported about rollouts since the last flush.
  let evidence = Locked(EvidenceBuffer())
  /// What was reported about pages that failed since the last flush, and who may report how much more of it.
  let samples = Locked(SampleBuffer())
  let quota = Locked(SampleQuota())
  /// How much of what was reported about rollouts came from other sites' pages, since the start.
  let foreignReports = Atomic<Int>(0)
  /// By channel.
  let standings = Locked<[Int64: KnownStanding]>([:])
  /// What keeps a channel's rollout from going on, or being stopped, by itself.
  let refusals = Locked<[Int64: RolloutRefusal]>([:])
  /// By channel.
  let earlier = Locked<[Int64: EarlierCandidates]>([:])
  private let window = Locked(PollWindow())
  /// When each channel's polls were last taken from the counters, in monotonic nanoseconds.
  private let polled = Locked<[Int64: UInt64]>([:])

  private struct FailureKey: Hashable {
    let channel: Int64
    let version: Int64
    let reason: FailureReason
    let url: String
  }

  private struct ReportKey: Hashable {
    let channel: Int64
    let version: ManifestVersion
  }

  /// The maximum number of versions whose batches are kept between two writes.
  private static let maxReports = 512

  /// The maximum number of kinds of failures told apart between two writes.
  private static let maxFailures = 2048

  init(store: Store, isBehindCache: Bool = false, log: @escaping @Sendable (String) -> Void) {
    self.store = store
    self.isBehindCache = isBehindCache
    self.log = log
  }

  /// Returns a counter for one event loop.
  func makeCounter() -> PollCounter {
    let counter = PollCounter()
    counters.withLock { $0.append(counter) }
    return counter
  }

  /// Counts a device's failure: without its URL if there are too many kinds, and not at all if there are too many without
  /// URLs.
  func record(_ reason: FailureReason, version: Int64, url: String, of channel: Int64) {
    failures.withLock { failures in
      for url in [url, ""] {
        let key = FailureKey(channel: channel, version: version, reason: reason, url: url)
        if failures[key] != nil || failures.count < Self.maxFailures {
          failures[key, default: 0] += 1
          return
        }
      }
    }
  }

  /// Adds a device's counts, unless there are batches of too many versions, and the polls that they stand for behind a shared cache.
  /// - Parameters:
  ///   - batch: what the device sent.
  ///   - channel: the channel's id.
  ///   - extras: what the channel's answers say.
  func record(_ batch: DeviceBatch, of channel: Int64, _ extras: AnswerExtras = .none) {
    if isBehindCache {
      let now = Clock.monotonicNanoseconds()
      sampled.withLock { $0.add(batch, of: channel, extras, now: now) }
    }
    let key = ReportKey(channel: channel, version: batch.version)
    reports.withLock { reports in
      guard reports[key] != nil || reports.count < Self.maxReports else { return }
      reports[key, default: DeviceCounts()].add(batch.counts)
    }
  }

  /// Writes what was counted since the last call.
  func flush() {
    var polls: [PollWindow.Key: PollWindow.Count] = [:]
    for count in counters.withLock({ $0 }).flatMap({ $0.drain() }) + sampled.withLock({ $0.take() }) {
      let key = PollWindow.Key(channel: count.channel, version: count.version)
      polls[key, default: PollWindow.Count()].add(.init(polls: count.polls, sample: count.sample))
    }
    let now = Clock.monotonicNanoseconds()
    window.withLock { [polls] in $0.add(polls, now: now) }
    let channels = Set(polls.keys.map(\.channel))
    polled.withLock { for channel in channels { $0[channel] = now } }
    let seen = failures.withLock { failures in
      defer { failures = [:] }
      return failures
    }
    let reported = reports.withLock { reports in
      defer { reports = [:] }
      return reports
    }
    do throws(StoreError) {
      try store.count(
        reported.map { ReportedCounts(channel: $0.key.channel, version: $0.key.version, counts: $0.value) })
      try store.count(
        polls.map { key, count in
          PollCount(channel: key.channel, version: key.version, polls: count.polls, sample: count.sample)
        })
      try store.count(
        seen.map { key, count in
          FailureCount(
            channel: key.channel, version: key.version, reason: key.reason, url: key.url, failures: count)
        })
    } catch {
      // Counts are informational; an origin that can't write them has worse problems, which it reports here, too.
      log("error: polls of the last seconds are not counted: \(error)")
    }
    flushSamples()
    flushEvidence()
  }

  /// Whether a channel was polled since a moment, in monotonic nanoseconds, as of the last flush.
  func isPolled(_ channel: Int64, since moment: UInt64) -> Bool {
    polled.withLock { $0[channel] ?? 0 } >= moment
  }

  /// Returns the polls of the last minutes by channel and version; channels without polls are absent.
  func recentPolls(minutes: Int) -> [Int64: RecentPolls] {
    let now = Clock.monotonicNanoseconds()
    var sums: [Int64: RecentPolls] = [:]
    for minute in window.withLock({ $0.minutes(UInt64(minutes), now: now) }) {
      for (key, count) in minute.polls { sums[key.channel, default: RecentPolls()].add(count, key.version) }
    }
    return sums
  }

  /// Returns a channel's polls in each minute of the last hour: how many minutes ago, and the counts.
  func minutes(of channel: Int64) -> [(age: Int, polls: [Int64: Int])] {
    let now = Clock.monotonicNanoseconds()
    return window.withLock { $0.minutes(now: now) }.map { minute in
      var polls: [Int64: Int] = [:]
      for (key, count) in minute.polls where key.channel == channel { polls[key.version] = count.polls }
      return (minute.age, polls)
    }
  }

  /// The polls of the last hour, failures of the last day, and devices' counts for the newest versions, in the Prometheus
  /// text format.
  var prometheusText: String {
    guard let channels = try? store.channels() else { return "" }
    var polls = ""
    var batches = ""
    var failures = ""
    var counts = ""
    let sums = window.withLock { $0.sums(now: Clock.monotonicNanoseconds()) }
    let polled = Dictionary(grouping: sums, by: \.key.channel)
    for channel in channels {
      let labels = "app=\"\(channel.app)\",channel=\"\(channel.name)\""
      let shares = (polled[channel.id] ?? []).sorted {
        ($1.value.polls, $1.key.version) < ($0.value.polls, $0.key.version)
      }
      if isBehindCache {
        let sample = shares.reduce(into: PollSample.none) { $0.add($1.value.sample) }
        batches += "xcache_poll_batches_last_hour{\(labels)} \(sample.batches)\n"
      }
      for share in shares.prefix(Self.maxSamples) {
        polls +=
          "xcache_polls_last_hour{\(labels),version=\"\(Self.name(share.key.version))\"} \(share.value.polls)\n"
      }
      var reasons: [String: Int] = [:]
      for failure in (try? store.failures(of: channel, days: 1)) ?? [] {
        reasons[
          "version=\"\(Self.name(failure.version))\",reason=\"\(failure.reason.rawValue)\"", default: 0] +=
          failure.failures
      }
      for (key, count) in reasons.sorted(by: { $0.key < $1.key }).prefix(Self.maxSamples) {
        failures += "xcache_device_failures_today{\(labels),\(key)} \(count)\n"
      }
      for report in (try? store.reported(of: channel, limit: Self.versionsOfCounts)) ?? [] {
        for (count, times) in report.counts.all {
          counts +=
            "xcache_device_events_total{\(labels),version=\"\(report.version)\",event=\"\(count.name)\"} \(times)\n"
        }
      }
    }
    return """
      # HELP xcache_polls_last_hour Polls of the last 60 minutes, and since the start, by the version that they reported; \
      behind a shared cache worked out from devices' batches.
      # TYPE xcache_polls_last_hour gauge
      \(polls)\(isBehindCache ? Self.batchesHelp + batches : "")# HELP xcache_device_failures_today Failures reported by devices today (UTC).
      # TYPE xcache_device_failures_today gauge
      \(failures)# HELP xcache_device_events_total Events counted by devices on the two newest reported versions.
      # TYPE xcache_device_events_total counter
      \(counts)
      """ + evidenceText(channels)
  }

  private static let batchesHelp = """
    # HELP xcache_poll_batches_last_hour Batches of counts that xcache_polls_last_hour is worked out from.
    # TYPE xcache_poll_batches_last_hour gauge

    """
  /// Per channel.
  private static let maxSamples = 100
  /// How many versions' counts are shown: each has fewer than 50 names.
  private static let versionsOfCounts = 2

  /// Returns the name of a reported version.
  static func name(_ version: Int64) -> String {
    switch version {
    case PollCount.none: "none"
    case PollCount.other: "other"
    default: String(version)
    }
  }
}

/// The polls of a channel in the last minutes.
struct RecentPolls: Sendable {
  /// By the version that they reported.
  private(set) var polls: [Int64: Int] = [:]
  /// What the numbers were worked out from.
  private(set) var sample = PollSample.none

  mutating func add(_ count: PollWindow.Count, _ version: Int64) {
    polls[version, default: 0] += count.polls
    sample.add(count.sample)
  }
}
