import Manifests
import OriginAPI
import Store
import System

/// All channels at one moment, and their problems.
struct FleetState: Sendable {
  let origin: String
  let health: [ChannelHealth]
  /// The polls of the last `minutes`, by the channel's row.
  let recent: [Int64: RecentPolls]
  let damaged: [DamagedURL]
  let mirrors: [MirrorRecord]
  /// The number of older versions from which deltas are still to be made, by the channel's row.
  let progress: [Int64: Int]
  /// Releases that wait until their files can be pushed.
  let staged: [StagedReleases.Item]
  let disk: DiskUse
  /// When the file that has waited longest was last read, in milliseconds since 1970.
  let scrubbed: Int64?
  /// Who is told of events, and how that goes.
  var webhooks: [WebhookState] = []
  /// How old the answers of shared caches may be, and which are told what to drop; nil if none takes polls.
  var edge: (bound: EdgeBound, states: [EdgeState])?
  /// In milliseconds since 1970.
  let now: Int64
  /// How many minutes of polls show what devices run.
  var minutes = FleetState.minutes(isSampled: false)
  /// What devices did in the hours that are over, by the channel's row; channels without any are absent.
  var trends: [Int64: FleetOverview.Trend] = [:]
  /// Since when problems are there, and who knows of them.
  var standings: [ProblemName: ProblemRecord] = [:]
  /// The lines of all channels, once they are made.
  private(set) var lines: [Line]?

  /// As many minutes as show what devices run: more where polls are worked out from a part of them.
  static func minutes(isSampled: Bool) -> Int { isSampled ? 60 : 10 }

  /// A channel's line, and what needs attention there.
  struct Line: Sendable {
    let line: FleetOverview.Channel
    let problems: [FoundProblem]
  }

  /// Returns the overview for a token that may read these channels.
  func overview(disk showsDisk: Bool, where mayRead: (AppName, ChannelName) -> Bool) -> FleetOverview {
    var found = showsDisk ? originProblems : []
    var channels: [FleetOverview.Channel] = []
    for line in lines ?? makeLines() where mayRead(line.line.app, line.line.channel) {
      channels.append(line.line)
      found += line.problems
    }
    var problems = found.map(problem)
    let order = [
      "killed", "damaged", "alarm", "failing", "staged", "disk", "frozen", "waiting", "lagging", "mirror",
      "scrub", "webhook", "edge",
    ]
    problems.sort { a, b in
      (a.severity, order.firstIndex(of: a.code) ?? order.count)
        < (b.severity, order.firstIndex(of: b.code) ?? order.count)
    }
    var overview = FleetOverview(
      origin: origin, problems: problems, channels: channels, disk: showsDisk ? roundedDisk : nil)
    if showsDisk, let edge { overview.edges = edge.states }
    return overview
  }

  /// Makes the lines of all channels, for all overviews of this moment.
  mutating func prepare() { lines = makeLines() }

  /// All problems of all channels and of the origin.
  var found: [FoundProblem] { originProblems + (lines ?? makeLines()).flatMap(\.problems) }

  private func makeLines() -> [Line] {
    health.map { item in
      let line = channel(item)
      return Line(line: line, problems: problems(of: line, item))
    }
  }

  /// A problem with what is known of it.
  private func problem(_ found: FoundProblem) -> FleetOverview.Problem {
    var problem = FleetOverview.Problem(
      found.name.code, found.severity.rawValue, found.app, found.channel, detail: found.detail)
    guard let standing = standings[found.name] else {
      problem.since = found.began.map { Moment(milliseconds: $0) }
      return problem
    }
    problem.since = Moment(milliseconds: standing.since)
    if let known = standing.acknowledgement, known.holds(at: now) {
      problem.acknowledged = .init(
        by: known.author, at: Moment(milliseconds: known.at), reason: known.reason,
        until: Moment(milliseconds: known.until))
    }
    return problem
  }

  /// Rounded to the minute and to a thousandth of the disk, so that frequent requests mostly get an unchanged answer.
  private var roundedDisk: DiskUse {
    let unit = max(1, disk.size / 1000)
    let at = disk.at.milliseconds
    return DiskUse(
      at: Moment(milliseconds: at - at % 60_000), size: disk.size,
      available: disk.available - disk.available % unit, stored: disk.stored)
  }

  // MARK: - A channel

  private func channel(_ item: ChannelHealth) -> FleetOverview.Channel {
    let info = item.channel.full
    let policy = item.extras.policy?.policy.current(at: Instant(milliseconds: now)) ?? .none
    var kill: FleetOverview.KillSwitch?
    if !policy.intercept, let record = item.killed {
      kill = .init(
        author: record.author, at: Moment(milliseconds: record.at), reason: record.message,
        until: policy.until.map { Moment(milliseconds: $0.milliseconds) })
    }
    // If nobody polled recently, or the server has just started, the clock hours are used.
    let polls = recent[info.id]?.polls ?? item.polls
    let sample = recent[info.id]?.sample ?? item.sample
    let minutes = recent[info.id] == nil ? 120 : minutes
    let sum = polls.values.reduce(0, +)
    let copies = mirrors.compactMap { mirror -> FleetOverview.Mirror? in
      let versions = mirror.versions.filter { $0.app == info.app && $0.channel == info.name }
      guard let newest = versions.map(\.version).max() else { return nil }
      return .init(name: mirror.name, version: newest, at: Moment(milliseconds: mirror.at))
    }
    let summary = ChannelSummary(
      app: info.app, channel: info.name, version: info.version, at: info.at.map { Moment(milliseconds: $0) },
      resources: info.resources, bytes: info.bytes, publicURL: info.publicURL,
      freeze: item.freeze)
    var line = FleetOverview.Channel(
      summary, author: item.author, kill: kill, bypasses: policy.bypass.count,
      adoption: .init(
        minutes: minutes, polls: sum,
        newest: info.answeredVersions.reduce(0) { $0 + (polls[$1.number] ?? 0) },
        sample: AdoptionAnswer.Sample(sample, of: sum)),
      failures: .init(hour: item.failures, day: item.failuresOfDay),
      mirror: copies.min { ($0.version, $0.at) < ($1.version, $1.at) },
      damaged: damaged.count { $0.app == info.app.text && $0.channel == info.name.text },
      deltasPending: progress[info.id], rollout: item.channel.rollout.map { RolloutInfo($0) })
    line.planned = FleetOverview.Planned(
      acts: item.scheduled?.count ?? 0, next: item.scheduled.map { Moment(milliseconds: $0.next) },
      freezes: item.plannedFreezes, failed: item.failedActs)
    line.trend = trends[info.id]
    return line
  }
}
