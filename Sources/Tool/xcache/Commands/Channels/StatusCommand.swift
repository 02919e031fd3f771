import Manifests
import OriginAPI
import OriginClient
import Publishing
import Values

/// `xcache status`: the current state of a channel.
enum StatusCommand {
  static let command = Command(
    name: "status", operands: "", summary: "show a channel's current state",
    examples: [
      .init("", "every channel, those with problems first, if no app is set"),
      .init("--app shop", "the newest version, its bundles, what devices run"),
      .init("--app shop --json", "everything as JSON"),
    ],
    options: Command.remote + Command.channel + [Command.all], run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    let remote = try RemoteOrigin(arguments)
    if remote.settings.app == nil { return try fleet(remote, arguments, terminal) }
    let channel = try remote.address
    let answer = try remote.api.overview(of: channel)
    if arguments.has("json") {
      var document = answer.document.object ?? JSONObject()
      document["adoption"] = try remote.api.adoption(of: channel).document
      document["history"] = try history(of: channel, remote)
      terminal.say(json: .object(document))
      return .done
    }
    let overview = answer.value
    if let fleet = try problems(remote) {
      for line in problems(fleet, of: channel, terminal) { terminal.say(line) }
    }
    terminal.say(
      terminal.colour("\(channel.app) \(channel.channel)", .bold) + "  version \(overview.version)")
    if overview.version == .none {
      terminal.say("nothing is published yet")
      return .done
    }
    // Asked for only while a rollout is open; what an older origin doesn't have is left out.
    let rollouts = overview.rollout == nil ? nil : try? remote.api.rollouts(of: channel).value
    for line in lines(overview, rollouts, terminal) { terminal.say(line) }
    terminal.say(list: damaged(overview, terminal), all: arguments.has("all"))
    var table = Table(["BUNDLE", "CHANGED IN", "RESOURCES", "SIZE"], rightAligned: [1, 2, 3])
    for bundle in overview.bundles {
      table.add([
        bundle.name.text, bundle.version.text, "\(bundle.resources)", Bytes.text(bundle.bytes),
      ])
    }
    terminal.say("")
    terminal.say(list: table.lines, head: 1, all: arguments.has("all"))
    let adoption = AdoptionChart.lines(
      try remote.api.adoption(of: channel).value, isBehindCache: overview.edge != nil)
    if !adoption.isEmpty { terminal.say("") }
    for line in adoption { terminal.say(line) }
    return .done
  }

  /// Returns the data of the console's charts, for 90 days; without what an older origin doesn't have, or this token may not
  /// see.
  private static func history(of channel: ChannelAddress, _ remote: RemoteOrigin) throws
    -> JSONValue
  {
    let api = try remote.api
    var history = JSONObject()
    for (name, step, points) in [("days", "day", 90), ("hours", "hour", 48)] {
      history[name] = try unlessRefused { () throws(OriginError) in
        try api.series(of: channel, step: step, points: points).document
      }
    }
    history["disk"] = try unlessRefused { () throws(OriginError) in try api.disk(hours: 48).document }
    history["mirrors"] = try unlessRefused { () throws(OriginError) in try api.mirrors().document["mirrors"] }
    history["problems"] = try unlessRefused { () throws(OriginError) in try api.fleet().document["problems"] }
    return .object(history)
  }

  /// Runs a request; returns nil if the origin doesn't have it, or refuses it to this token. An outage still throws.
  private static func unlessRefused(_ ask: () throws(OriginError) -> JSONValue?) throws(OriginError)
    -> JSONValue?
  {
    do { return try ask() } catch {
      if error.isOutage { throw error }
      return nil
    }
  }

  /// Returns all channels with their problems; nil from an older origin, or if this token may not see them.
  private static func problems(_ remote: RemoteOrigin) throws -> FleetOverview? {
    do {
      return try remote.api.fleet().value
    } catch {
      if (error as? OriginError)?.isOutage == true { throw error }
      return nil
    }
  }

  /// Describes an act that is to come, or that wasn't carried out.
  private static func line(_ act: ScheduledInfo, _ channel: ChannelName, _ terminal: Terminal) -> String {
    let what = "\(act.summary), by \(act.author)"
    guard act.state == "waiting" else {
      let since =
        act.hasTime
        ? "was scheduled for"
        : act.approvals == nil ? "waited for signatures since" : "waited for approvals since"
      return terminal.colour(act.state == "missed" ? "MISSED" : "FAILED", .red)
        + "     \(what), \(since) \(act.due.formatted): \((act.reason ?? act.state).onOneLine)"
    }
    if act.isUnsigned {
      let line =
        terminal.colour("UNSIGNED", .yellow)
        + "   release \(act.id), \(what), \(act.remainder(channel))"
      if act.refusal != nil { return line }
      return line + act.dueWords
        + (act.isComplete ? "" : "; `xcache sign \(act.id)\(channel.option)` completes it")
        + (act.isUnapproved ? ", `xcache approve \(act.id)` approves it" : "")
        + ", `xcache schedule cancel \(act.id)\(channel.option)` takes it back"
    }
    if act.isUnapproved {
      return terminal.colour("UNAPPROVED", .yellow)
        + " act \(act.id), \(what), waits for \(act.missingApprovals)\(act.dueWords); `xcache approve \(act.id)` approves it, "
        + "`xcache schedule cancel \(act.id)\(channel.option)` takes it back"
    }
    let late = act.reason.map { "; couldn't be carried out yet: \($0.onOneLine)" } ?? ""
    return terminal.colour("SCHEDULED", .yellow)
      + "  \(act.due.formatted): \(what)\(late); `xcache schedule cancel \(act.id)\(channel.option)` takes it back"
  }

  static func lines(_ overview: ChannelOverview, _ rollouts: RolloutList? = nil, _ terminal: Terminal)
    -> [String]
  {
    var lines: [String] = []
    if let freeze = overview.freeze {
      lines.append(
        terminal.colour("FROZEN", .red)
          + "     by \(freeze.author) since \(freeze.since.formatted)"
          + "\(freeze.calendar?.to.map { " until \($0.formatted)" } ?? ""): \(freeze.reason.onOneLine)")
    }
    for freeze in overview.plannedFreezes ?? [] where freeze.calendar?.id != overview.freeze?.calendar?.id {
      lines.append(
        terminal.colour("FREEZE", .yellow)
          + "     \(freeze.times), by \(freeze.author): \(freeze.reason.onOneLine); planned, "
          + "`xcache channel thaw\(overview.channel.option) --planned \(freeze.calendar?.id ?? 0)` takes it back"
      )
    }
    if let problem = overview.headProblem { lines.append(HeadWords.line(problem, terminal)) }
    lines += EdgeOutput.late(overview, terminal)
    if overview.isDiskFull ?? false {
      lines.append(
        terminal.colour("DISK FULL", .red)
          + "  publishing is refused until there is room on the origin's disk: free some, or run `xcache gc`")
    }
    for staged in overview.staged ?? [] {
      let bundles = staged.bundles.map { " of \($0.joined(separator: ", "))" } ?? ""
      lines.append(
        terminal.colour("STAGED", .red)
          + "     a release\(bundles) by \(staged.author), \(staged.at.formatted), isn't visible: "
          + "\(staged.reason.onOneLine); tried \(Count.text(staged.attempts, "time")), and again by itself")
    }
    for act in overview.scheduled ?? [] { lines.append(Self.line(act, overview.channel, terminal)) }
    if let rollout = overview.rollout {
      lines.append(
        terminal.colour("ROLLOUT", .yellow)
          + "    \(rollout.candidate) goes to \(rollout.audience)\(rollout.paused ? ", paused" : ""), by "
          + "\(rollout.author) since \(rollout.at.formatted)")
      for line in rollouts.map(RolloutEvidenceLines.short) ?? [] { lines.append("           \(line)") }
    }
    if let halted = overview.halted {
      lines.append(
        terminal.colour("HALTED", .red)
          + "     the rollout of \(halted.candidate), by itself, \(halted.changedAt.formatted): \((halted.reason ?? "").onOneLine)"
      )
    }
    lines.append("released   \(overview.at.formatted)")
    lines.append("holds      \(Count.text(overview.resources, "resource")), \(Bytes.text(overview.bytes))")
    if let deltas = overview.deltas { lines.append("deltas     \(message(ofDeltas: deltas))") }
    if overview.deltas?.makesFirstPack == true {
      lines.append("first pack being made: until then, new devices fetch the files one by one")
    }
    lines.append("public URL \(overview.publicURL)")
    if let hosts = overview.hosts { lines.append("hosts      \(hosts.joined(separator: ", "))") }
    if let protection = overview.protection {
      lines.append("protected  changes wait for \(protection.words)")
    }
    if let edge = overview.edge { lines.append("edge       \(EdgeOutput.words(edge, overview.interval))") }
    if let rollback = overview.rollback {
      lines.append("rollback   version \(rollback) was the last rollback")
    }
    if overview.isDefaultApp { lines.append("default    answers polls that name no app") }
    return lines + documents(overview, terminal) + files(overview)
  }

  /// Describes when the origin last verified its files.
  private static func files(_ overview: ChannelOverview) -> [String] {
    let scrub = overview.scrub.oldest.map { "scrub      all files verified since \($0.formatted)" }
    return scrub.map { [$0] } ?? []
  }

  static func damaged(_ overview: ChannelOverview, _ terminal: Terminal) -> [String] {
    overview.damagedURLs.map {
      terminal.colour("DAMAGED", .red) + "    \($0.url): publish bundle \($0.bundle) again"
    }
  }

  static func message(ofDeltas deltas: ChannelOverview.DeltaProgress) -> String {
    guard let pending = deltas.pending else { return "looking for older versions" }
    if pending == 0 { return "complete" }
    let fault = deltas.fault.map { " (\($0.onOneLine))" } ?? ""
    if deltas.isStuck {
      return "\(Count.text(pending, "older version")) left, tried again by themselves\(fault)"
    }
    if deltas.failing > 0 {
      return
        "\(Count.text(pending, "older version")) left, \(deltas.failing) of them to be tried again\(fault)"
    }
    return
      "\(Count.text(pending, "older version")) left; of the next, \(deltas.filesDone) of "
      + "\(Count.text(deltas.files, "file")) done"
  }

  /// Describes the channel's policy and prefetch config, with the kill switch first.
  private static func documents(_ overview: ChannelOverview, _ terminal: Terminal) -> [String] {
    var lines: [String] = []
    if let policy = overview.policy {
      if let alarm = PolicyOutput(policy.policy).alarm(terminal) { lines.append(alarm) }
      lines.append("policy     \(DocumentLog.line(policy))")
    }
    if let prefetch = overview.prefetch { lines.append("prefetch   \(DocumentLog.line(prefetch))") }
    if let interval = overview.interval { lines.append("interval   \(interval) s between polls") }
    if let share = overview.reports {
      lines.append("reports    \(ShareText.percent(share)) of devices' usage reports")
    }
    if overview.samples == false { lines.append("samples    off: devices send no examples of errors") }
    return lines
  }
}
