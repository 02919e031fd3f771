import Manifests
import OriginAPI
import Store
import System

/// Something that needs attention at this moment, before it is known since when.
struct FoundProblem: Sendable {
  let name: ProblemName
  let severity: ProblemSeverity
  /// The channel's; nil for the origin's own.
  let app: AppName?
  let channel: ChannelName?
  /// A sentence.
  let detail: String
  /// When it began, in milliseconds since 1970; nil if only whoever saw it first knows.
  let began: Int64?
}

extension FoundProblem {
  fileprivate init(
    ofOrigin code: String, _ severity: ProblemSeverity, subject: String = "", since: Int64? = nil,
    _ detail: String
  ) {
    self.init(
      name: ProblemName(channel: nil, code: code, subject: subject), severity: severity, app: nil,
      channel: nil, detail: detail, began: since)
  }
}

extension FleetState {
  // Thresholds for a problem: a share of what is counted, above what a few devices cause.
  private static let minFailures = 10
  private static let failureShare = 100
  private static let minPolls = 20
  private static let hour: Int64 = 3_600_000
  private static let day = 24 * hour

  /// What needs attention in a channel.
  func problems(of channel: FleetOverview.Channel, _ item: ChannelHealth) -> [FoundProblem] {
    var found: [FoundProblem] = []
    func add(
      _ code: String, _ severity: ProblemSeverity, subject: String = "", since: Int64? = nil, _ detail: String
    ) {
      found.append(
        FoundProblem(
          name: ProblemName(channel: item.channel.id, code: code, subject: subject), severity: severity,
          app: channel.app, channel: channel.channel, detail: detail, began: since))
    }
    if let kill = channel.kill {
      add(
        "killed", .error, subject: kill.at.wireText, since: kill.at.milliseconds,
        "The kill switch is on: devices use only the network. \(kill.author)"
          + (kill.reason.isEmpty ? " gave no reason." : ": \(kill.reason)"))
    }
    if channel.damaged > 0 {
      let (noun, them) = channel.damaged == 1 ? ("URL has", "its bundle") : ("URLs have", "their bundles")
      add(
        "damaged", .error,
        "\(channel.damaged) \(noun) damaged bytes and can't be served; publish \(them) again.")
    }
    let polls = item.polls.values.reduce(0, +)
    if item.failures >= Self.minFailures, item.failures * Self.failureShare >= polls {
      add("failing", .error, "Devices reported \(item.failures) failures in this hour and the last one.")
    }
    if let rollout = item.channel.rollout, rollout.isPaused, let plan = item.plan, plan.isAlarmed {
      add(
        "alarm", .error,
        "Version \(rollout.candidate) fails too often, so its rollout is paused. Halt it, or resume it in spite of that."
      )
    }
    for item in staged where item.scope.app == channel.app && item.scope.channel == channel.channel {
      add(
        "staged", .error, subject: "\(item.since) \(item.author)", since: item.since,
        "A release by \(item.author) of \(Timestamp.words(item.since)) isn't visible: \(item.reason)")
    }
    if let freeze = channel.freeze {
      add(
        "frozen", .warning, subject: freeze.at.wireText, since: freeze.at.milliseconds,
        "The channel is frozen and refuses releases. \(freeze.author): \(freeze.reason)")
    }
    if let awaiting = item.awaiting, now - awaiting.since > Self.day {
      add(
        "waiting", .warning, since: awaiting.since,
        "\(awaiting.count == 1 ? "An act lacks" : "\(awaiting.count) acts lack") approvals or signatures, since "
          + "\(Timestamp.words(awaiting.since)). `xcache approve` lists what waits.")
    }
    let share = channel.adoption
    if let at = channel.at, now - at.milliseconds > Self.hour, share.polls >= Self.minPolls, isBehind(share) {
      add(
        "lagging", .warning,
        "Only \(share.newest * 100 / share.polls) % of polls report version \(channel.version), which is more than an hour old."
      )
    }
    if let mirror = channel.mirror, mirror.version < channel.version, let at = channel.at,
      now - at.milliseconds > Self.hour
    {
      add(
        "mirror", .warning,
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

  /// What needs attention at the origin.
  var originProblems: [FoundProblem] {
    var found: [FoundProblem] = []
    // A file system may report more space than its size in bytes can express (`Kernel.space`).
    let percent = disk.size > 0 ? Int(min(1, Double(disk.available) / Double(disk.size)) * 100) : 100
    if disk.available < 256_000_000 || percent < 2 {
      let detail = "The disk has \(disk.available / 1_000_000) MB free, \(percent) % of it."
      found.append(FoundProblem(ofOrigin: "disk", .error, detail))
    } else if percent < 10 {
      found.append(FoundProblem(ofOrigin: "disk", .warning, "Only \(percent) % of the disk is free."))
    }
    if let scrubbed, now - scrubbed > 14 * Self.day {
      let days = (now - scrubbed) / Self.day
      found.append(
        FoundProblem(
          ofOrigin: "scrub", .warning, since: scrubbed + 14 * Self.day,
          "Some files have not been read back for \(days) days."))
    }
    return found + webhooks.compactMap(problem) + (edge?.states ?? []).compactMap(problem)
  }

  /// A cache that hasn't been told of a change in time.
  private func problem(of state: EdgeState) -> FoundProblem? {
    guard let since = state.lateSince, let bound = edge?.bound else { return nil }
    let sum = state.waiting == 1 ? "1 channel waits" : "\(state.waiting) channels wait"
    let age = bound.oldest.map { "up to \($0) s old" } ?? "as old as its configuration allows"
    return FoundProblem(
      ofOrigin: "edge", .warning, subject: state.name, since: since.milliseconds,
      "The edge \(state.name) has not taken a purge since \(Timestamp.words(since.milliseconds)); \(sum), and devices may get "
        + "answers that are \(age).\(state.fault.map { " The last attempt: \($0)" } ?? "")")
  }

  /// A receiver in use that got none of a message for a quarter of an hour, or one to which nothing is sent any more.
  private func problem(of state: WebhookState) -> FoundProblem? {
    let (hook, last) = (state.webhook, state.last)
    let name = "The webhook \(hook.id) to \(hook.place)"
    if let disabled = hook.disabled {
      return FoundProblem(
        ofOrigin: "webhook", .warning, subject: hook.id, since: disabled.at,
        "\(name) is disabled since \(Timestamp.words(disabled.at)): \(disabled.reason).")
    }
    let reason = last?.error.map { " The last attempt: \($0)" } ?? ""
    if let since = state.failingSince, now - since > 15 * 60_000 {
      let sum = state.waiting == 1 ? "1 message waits" : "\(state.waiting) messages wait"
      return FoundProblem(
        ofOrigin: "webhook", .warning, subject: hook.id, since: since,
        "\(name) has failed since \(Timestamp.words(since)); \(sum).\(reason)")
    }
    guard let last, last.state == .failed, last.type != WebhookEvent.test, now - last.at < 7 * Self.day else {
      return nil
    }
    let sum = state.failed == 1 ? "1 message was" : "\(state.failed) messages were"
    return FoundProblem(
      ofOrigin: "webhook", .warning, subject: hook.id, "\(name): \(sum) given up.\(reason)")
  }
}
