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

  /// As many minutes as show what devices run: more where polls are worked out from a part of them.
  static func minutes(isSampled: Bool) -> Int { isSampled ? 60 : 10 }

  // Thresholds for a problem: a share of what is counted, above what a few devices cause.
  private static let minFailures = 10
  private static let failureShare = 100
  private static let minPolls = 20
  private static let hour: Int64 = 3_600_000
  private static let day = 24 * hour

  /// Returns the overview for a token that may read these channels.
  func overview(disk showsDisk: Bool, where mayRead: (AppName, ChannelName) -> Bool) -> FleetOverview {
    let readable = health.filter { mayRead($0.channel.app, $0.channel.name) }
    var problems = showsDisk ? originProblems : []
    var channels: [FleetOverview.Channel] = []
    for item in readable {
      let channel = channel(item)
      channels.append(channel)
      problems += self.problems(of: channel, item)
    }
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
    return line
  }

  private func problems(of channel: FleetOverview.Channel, _ item: ChannelHealth) -> [FleetOverview.Problem] {
    var found: [FleetOverview.Problem] = []
    func add(_ code: String, _ severity: String, _ detail: String) {
      found.append(.init(code, severity, channel.app, channel.channel, detail: detail))
    }
    if let kill = channel.kill {
      add(
        "killed", "error",
        "The kill switch is on: devices use only the network. \(kill.author)"
          + (kill.reason.isEmpty ? " gave no reason." : ": \(kill.reason)"))
    }
    if channel.damaged > 0 {
      let (noun, them) = channel.damaged == 1 ? ("URL has", "its bundle") : ("URLs have", "their bundles")
      add(
        "damaged", "error",
        "\(channel.damaged) \(noun) damaged bytes and can't be served; publish \(them) again.")
    }
    let polls = item.polls.values.reduce(0, +)
    if item.failures >= Self.minFailures, item.failures * Self.failureShare >= polls {
      add("failing", "error", "Devices reported \(item.failures) failures in this hour and the last one.")
    }
    if let rollout = item.channel.rollout, rollout.isPaused, let plan = item.plan, plan.isAlarmed {
      add(
        "alarm", "error",
        "Version \(rollout.candidate) fails too often, so its rollout is paused. Halt it, or resume it in spite of that."
      )
    }
    for item in staged where item.scope.app == channel.app && item.scope.channel == channel.channel {
      add(
        "staged", "error",
        "A release by \(item.author) of \(Timestamp.words(item.since)) isn't visible: \(item.reason)")
    }
    if let freeze = channel.freeze {
      add(
        "frozen", "warning", "The channel is frozen and refuses releases. \(freeze.author): \(freeze.reason)")
    }
    if let awaiting = item.awaiting, now - awaiting.since > Self.day {
      add(
        "waiting", "warning",
        "\(awaiting.count == 1 ? "An act lacks" : "\(awaiting.count) acts lack") approvals or signatures, since "
          + "\(Timestamp.words(awaiting.since)). `xcache approve` lists what waits.")
    }
    let share = channel.adoption
    if let at = channel.at, now - at.milliseconds > Self.hour, share.polls >= Self.minPolls, isBehind(share) {
      add(
        "lagging", "warning",
        "Only \(share.newest * 100 / share.polls) % of polls report version \(channel.version), which is more than an hour old."
      )
    }
    if let mirror = channel.mirror, mirror.version < channel.version, let at = channel.at,
      now - at.milliseconds > Self.hour
    {
      add(
        "mirror", "warning",
        "The mirror \(mirror.name) has version \(mirror.version), not \(channel.version).")
    }
    return found
  }

  /// Whether less than half of the polls report the newest version, also if a sample of them is as far off as it may be.
  private func isBehind(_ share: FleetOverview.Share) -> Bool {
    let all = Double(AnswerExtras.allReports)
    return Double(share.newest) / Double(share.polls) + Double(share.sample?.margin ?? 0) / all < 0.5
  }

  // MARK: - The origin

  private var originProblems: [FleetOverview.Problem] {
    var found: [FleetOverview.Problem] = []
    // A file system may report more space than its size in bytes can express (`Kernel.space`).
    let percent = disk.size > 0 ? Int(min(1, Double(disk.available) / Double(disk.size)) * 100) : 100
    if disk.available < 256_000_000 || percent < 2 {
      let detail = "The disk has \(disk.available / 1_000_000) MB free, \(percent) % of it."
      found.append(.init("disk", "error", detail: detail))
    } else if percent < 10 {
      found.append(.init("disk", "warning", detail: "Only \(percent) % of the disk is free."))
    }
    if let scrubbed, now - scrubbed > 14 * Self.day {
      let days = (now - scrubbed) / Self.day
      found.append(.init("scrub", "warning", detail: "Some files have not been read back for \(days) days."))
    }
    return found + webhooks.compactMap(problem) + (edge?.states ?? []).compactMap(problem)
  }

  /// A cache that hasn't been told of a change in time.
  private func problem(of state: EdgeState) -> FleetOverview.Problem? {
    guard let since = state.lateSince, let bound = edge?.bound else { return nil }
    let sum = state.waiting == 1 ? "1 channel waits" : "\(state.waiting) channels wait"
    let age = bound.oldest.map { "up to \($0) s old" } ?? "as old as its configuration allows"
    return .init(
      "edge", "warning",
      detail:
        "The edge \(state.name) has not taken a purge since \(Timestamp.words(since.milliseconds)); \(sum), and devices may get "
        + "answers that are \(age).\(state.fault.map { " The last attempt: \($0)" } ?? "")")
  }

  /// A receiver in use that got none of a message for a quarter of an hour, or one to which nothing is sent any more.
  private func problem(of state: WebhookState) -> FleetOverview.Problem? {
    let (hook, last) = (state.webhook, state.last)
    let name = "The webhook \(hook.id) to \(hook.place)"
    if let disabled = hook.disabled {
      return .init(
        "webhook", "warning",
        detail: "\(name) is disabled since \(Timestamp.words(disabled.at)): \(disabled.reason).")
    }
    let reason = last?.error.map { " The last attempt: \($0)" } ?? ""
    if let since = state.failingSince, now - since > 15 * 60_000 {
      let sum = state.waiting == 1 ? "1 message waits" : "\(state.waiting) messages wait"
      return .init(
        "webhook", "warning", detail: "\(name) has failed since \(Timestamp.words(since)); \(sum).\(reason)")
    }
    guard let last, last.state == .failed, last.type != WebhookEvent.test, now - last.at < 7 * Self.day else {
      return nil
    }
    let sum = state.failed == 1 ? "1 message was" : "\(state.failed) messages were"
    return .init("webhook", "warning", detail: "\(name): \(sum) given up.\(reason)")
  }
}
