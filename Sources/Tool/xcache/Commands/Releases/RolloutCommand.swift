import Manifests
import OriginAPI
import Publishing
import Values

/// `xcache rollout show | set | pause | resume | complete | halt`: the release that goes to a part of the devices first.
enum RolloutCommand {
  static let command = Command(
    name: "rollout", operands: "show | set [PERCENT] | pause | resume | complete | halt",
    summary: "steer the release that goes to a part of the devices first",
    examples: [
      .init("show --app shop", "the open rollout, and the ones before"),
      .init("set 25% --app shop", "let more devices in"),
      .init("set --ramp 5%,25%,100% --app shop", "let them in step by step, as long as nothing fails"),
      .init("complete --app shop", "make it the version of all devices"),
      .init("halt -m 'checkout is broken' --app shop", "take it back from those that have it"),
    ],
    notes: """
      `publish --rollout 5%` (or promote, rollback, prefetch push) begins a rollout: its version, the candidate, goes to 5 % of the
      devices, and all others stay at the full version. Each device decides for itself, and stays in once it is in.
      set: the share of the devices (0% to 100%), the groups and the range of app versions; what isn't given stays.
      Devices report whether their pages fail. If those with the candidate fail more than 1.5 times as often as the devices that
      they are compared with, the origin pauses the rollout, and with --auto-halt takes it back, at odds of 10,000 to 1.
      With --ramp it goes on by itself: to the next step when --each devices with the candidate have opened a page in this one,
      and --at-least has passed; `complete` at the end completes it. Without --each and --at-least a new ramp has their
      defaults, also if the one before had others; without --ramp, set changes them for the steps that there are. show says
      what devices reported, and what the rollout waits for. Reports are anonymous, so one network
      (/24, /48) counts for 5 % of them at most; --network-cap 100% is for devices in few.
      pause: no further device is let in; resume ends that. complete: the candidate becomes the full version, under the
      same number. halt: a new version with the content of the full one takes the candidate back, as a rollback does.
      While the candidate fails too often, complete and a larger share ask first; -y does it without a question.
      A release of other bundles makes the candidate again on top of it, under a new number; one of the candidate's own
      bundles takes its place. A frozen channel refuses set, resume and complete (exit code 3) without --break-glass,
      but never pause and halt. --schedule TIME takes the step then, if its candidate is still the one.
      """,
    options: Command.remote + Command.channel + [
      appVersion.only("set"), group.only("set"), ramp.only("set"), each.only("set"), atLeast.only("set"),
      autoHalt.only("set"), .flag("no-auto-halt", "only a person halts it (set)").only("set"),
      networkCap.only("set"),
      .value("candidate", "V", "refuse if another version is the candidate").only(
        "set", "pause", "resume", "complete", "halt"),
      .value("message", "TEXT", short: "m", "why it is halted, for the log (halt)").only("halt"),
      .value("break-glass", "REASON", "even if the channel is frozen; the reason is recorded").only(
        "set", "resume", "complete"),
      Command.schedule.only("set", "pause", "resume", "complete", "halt"), yes.only("set", "complete"),
      Command.all.only("show"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    switch arguments.operands.first {
    case "show": return try show(arguments, terminal)
    case "set": return try set(arguments, terminal)
    case let verb? where ["pause", "resume", "complete"].contains(verb):
      _ = try arguments.operands(verb)
      return try change(verb, RolloutRequest(), arguments, terminal)
    case "halt": return try halt(arguments, terminal)
    default: throw UsageError("expected rollout show, set, pause, resume, complete or halt")
    }
  }

  private static func show(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands("show")
    let remote = try RemoteOrigin(arguments)
    let answer = try remote.api.rollouts(of: try remote.address)
    if arguments.has("json") {
      terminal.say(json: answer.document)
      return .done
    }
    let list = answer.value
    if let open = list.open {
      terminal.say(
        terminal.colour("version \(open.version)", .bold)
          + " goes to \(open.audience)\(open.paused ? "; paused: no further device is let in" : "")")
      terminal.say("all other devices have version \(list.full)")
      if let prefetch = open.prefetch { terminal.say("prefetch config \(prefetch) goes along with it") }
      terminal.say("begun by \(open.author), \(open.at.formatted)")
      if open.changedAt != open.at {
        terminal.say("changed by \(open.changedBy), \(open.changedAt.formatted)")
      }
      if let line = seen(open, full: list.full, remote) { terminal.say(line) }
      for line in RolloutEvidenceLines.all(list) { terminal.say(line) }
    } else {
      terminal.say(
        list.full == .none
          ? "no rollout is open: nothing is released yet"
          : "no rollout is open: all devices have version \(list.full)")
    }
    let ended = list.rollouts.filter { $0.state != "open" }
    if ended.isEmpty { return .done }
    var table = Table(["VERSION", "SHARE", "STATE", "WHEN", "WHO", "WHY"], rightAligned: [0, 1])
    for rollout in ended {
      table.add([
        rollout.version.text, ShareText.percent(rollout.share), rollout.state, rollout.changedAt.formatted,
        rollout.changedBy,
        [rollout.prefetch.map { "prefetch config \($0)" }, rollout.reason?.onOneLine].compactMap(\.self)
          .joined(separator: ": "),
      ])
    }
    terminal.say("")
    terminal.say(list: table.lines, head: 1, all: arguments.has("all"))
    return .done
  }

  /// What the polls of the last hours say about the share that was asked for; nil without any, and where the origin doesn't answer.
  private static func seen(
    _ open: RolloutInfo, full: ManifestVersion, _ remote: RemoteOrigin
  ) -> String? {
    guard let address = try? remote.address, let hour = try? remote.api.adoption(of: address).value.hour
    else { return nil }
    func polls(_ version: ManifestVersion) -> Int64 {
      hour.versions.filter { $0.version == version.text }.reduce(0) { $0 &+ $1.polls }
    }
    let (candidate, all) = (polls(open.version), hour.polls)
    guard all > 0 else { return "no device has polled in this hour or the one before" }
    func share(_ polls: Int64) -> String {
      ShareText.percent(Int((Double(polls) / Double(all) * 10_000).rounded()))
    }
    let rest = all - candidate - polls(full)
    return
      "in \(Count.text(Int(clamping: all), "poll")) of this hour and the one before: \(share(candidate)) have version \(open.version), "
      + "\(share(polls(full))) version \(full)" + (rest > 0 ? ", \(share(rest)) another one or none" : "")
      + (hour.sample.map { " (\($0.words))" } ?? "")
  }

  /// What a release that changes nothing leaves open, for its author, who may have thought of the candidate.
  static func left(
    _ release: ReleaseAnswer, _ remote: RemoteOrigin, _ arguments: Arguments, _ terminal: Terminal
  ) {
    guard !release.isChanged, release.rollout == nil, !terminal.isQuiet, let address = try? remote.address,
      let open = try? remote.api.rollouts(of: address).value.open
    else { return }
    terminal.remark(
      "the rollout of version \(open.version) stays as it is: \(open.paused ? "paused at" : "it goes to") \(open.audience); "
        + "`xcache rollout set PERCENT` changes that, `xcache rollout halt -m TEXT` takes it back")
  }

  private static func set(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    if arguments.operands.count > 2 { throw UsageError("unexpected argument: \(arguments.operands[2])") }
    var request = RolloutRequest()
    request.share = try arguments.operands.dropFirst().first.map { try share($0, in: "PERCENT") }
    request.groups = try groups(arguments)
    request.app = try range(arguments).map { $0 ?? "" }
    let isOfRamp = arguments.isGiven("each") || arguments.isGiven("at-least")
    if isOfRamp, !arguments.isGiven("ramp") {
      // What can't be is told without asking anybody.
      _ = (try each(arguments), try atLeast(arguments))
      let remote = try RemoteOrigin(arguments)
      request.ramp = try changedRamp(try remote.api.rollouts(of: try remote.address).value.ramp, arguments)
    } else {
      request.ramp = try rampTerms(arguments)
    }
    request.autoHalt = try halts(arguments)
    request.networkCap = try cap(arguments)
    guard
      request.share != nil || request.groups != nil || request.app != nil || request.ramp != nil
        || request.autoHalt != nil || request.networkCap != nil
    else {
      throw UsageError(
        "nothing to set: give PERCENT, --group NAME, --app-version RANGE, --ramp STEPS, --each N, --at-least TIME, "
          + "--auto-halt, --no-auto-halt or --network-cap PERCENT"
      )
    }
    return try change("set", request, arguments, terminal)
  }

  private static func change(
    _ verb: String, _ request: RolloutRequest, _ arguments: Arguments, _ terminal: Terminal
  ) throws -> ExitCode {
    let remote = try RemoteOrigin(arguments)
    var request = request
    request.candidate = try candidate(arguments)
    request.breakGlass = try arguments.breakGlass()
    request.schedule = try arguments.schedule()
    if verb == "complete" || verb == "set" && request.share != nil {
      guard try isConfirmed(request.share, remote, arguments, terminal) else { return .refused }
    }
    let answer = try remote.api.rollout(verb, request, in: try remote.address)
    if arguments.has("json") {
      terminal.say(json: answer.document)
      return .done
    }
    if let scheduled = answer.value.scheduled {
      terminal.say(scheduled.line(remote.channel))
      return .done
    }
    let isOfAudience = request.share != nil || request.groups != nil || request.app != nil
    for line in lines(
      answer.value, verb, isOfAudience: isOfAudience, course: course(of: request, at: answer.value.rollout),
      terminal)
    { terminal.say(line) }
    return .done
  }

  static func lines(
    _ answer: RolloutAnswer, _ verb: String, isOfAudience: Bool = true, course: String? = nil,
    _ terminal: Terminal
  ) -> [String] {
    let (now, was) = (answer.rollout, answer.was)
    let version =
      terminal.colour("version \(now.version)", .bold)
      + (now.prefetch.map { " with prefetch config \($0)" } ?? "")
    guard answer.changed else {
      if verb == "set", !isOfAudience {
        return ["nothing changed: \(version) does that already; `xcache rollout show` says how it goes on"]
      }
      return [
        now.paused
          ? "nothing changed: \(version) is paused at \(now.audience) already"
          : "nothing changed: \(version) goes to \(now.audience) already"
      ]
    }
    let line: String
    switch verb {
    case "complete": line = "\(version) is the version of all devices now; it went to \(was.audience)"
    case "pause": line = "\(version): no further device is let in; it went to \(was.audience)"
    case "resume":
      line =
        "\(version) goes to \(now.audience) again"
        + (answer.pausesItself == false
          ? "; since it was resumed after an alarm, alarms don't pause it any more" : "")
    // Nothing but what it does by itself was changed.
    case "set" where now.audience == was.audience:
      line = "\(version) goes to \(now.audience); `xcache rollout show` says how it goes on"
    default:
      line =
        "\(version) goes to \(now.audience)\(now.paused ? ", once it is resumed" : ""); before, to \(was.audience)"
        + " (by \(was.changedBy), \(was.changedAt.formatted))"
    }
    return [line] + (course.map { [$0] } ?? []) + (answer.receipt.map { ["receipt \($0)"] } ?? [])
  }

  private static func halt(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands("halt")
    let remote = try RemoteOrigin(arguments)
    guard let message = try arguments.text("message"), !message.isEmpty else {
      throw remote.missing("-m TEXT is required: why the rollout is halted, for the log")
    }
    var request = RolloutHaltRequest(candidate: try candidate(arguments), message: message)
    request.schedule = try arguments.schedule()
    if request.schedule != nil {
      let answer = try remote.api.scheduleHalt(request, in: try remote.address)
      if arguments.has("json") {
        terminal.say(json: answer.document)
      } else if let scheduled = answer.value.scheduled {
        terminal.say(scheduled.line(remote.channel))
      }
      return .done
    }
    let answer = try remote.api.haltRollout(request, in: try remote.address)
    if arguments.has("json") {
      terminal.say(json: answer.document)
      return .done
    }
    let release = answer.value
    let candidate = release.rollout?.ended?.candidate ?? "the candidate"
    terminal.say(
      "\(release.changeSummary), \(terminal.colour("version \(release.version)", .bold)) takes \(candidate) back"
    )
    for line in release.receiptLines { terminal.say(line) }
    return .done
  }

  private static func candidate(_ arguments: Arguments) throws -> ManifestVersion? {
    guard let text = try arguments.value("candidate") else { return nil }
    guard let version = ManifestVersion(text: text) else {
      throw UsageError("--candidate \(text) is not a version number")
    }
    return version
  }
}

extension RolloutInfo {
  /// What goes to a part of the devices.
  var candidate: String {
    "version \(version)" + (prefetch.map { " with prefetch config \($0)" } ?? "")
  }

  /// Whom it goes to, such as `5 % of the devices and group qa, with app version >=4.2`.
  var audience: String { ShareText.audience(share: share, groups: groups, app: app) }
}

extension RolloutChangeInfo {
  /// What became of the rollout that was open, and which is now.
  func lines(dryRun: Bool, _ terminal: Terminal) -> [String] {
    var lines: [String] = []
    if let ended {
      let verb = dryRun ? "would be" : "is"
      switch ended.state {
      case "superseded":
        lines.append(
          terminal.colour(
            "the candidate, version \(ended.version) by \(ended.author), \(verb) superseded: devices that have it follow this release",
            .yellow))
        if let prefetch = ended.prefetch {
          lines.append("so \(verb) prefetch config \(prefetch), which went along with it")
        }
      case "remade":
        let number = open.map(\.candidate) ?? "a new version"
        lines.append(
          "the candidate, version \(ended.version), \(verb) made again on top as \(number), for \(ended.audience)"
        )
      case "completed":
        lines.append(
          "the candidate, \(ended.candidate), \(dryRun ? "would become" : "becomes") the version of all devices"
        )
      default: break
      }
    }
    if let open, ended?.state != "remade" {
      lines.append(
        "\(dryRun ? "would go" : "goes") to \(open.audience); all others stay at version \(open.full)"
      )
      let course = ShareText.course(
        from: open.share, steps: ramp?.steps ?? [], completes: ramp?.completes ?? false,
        halts: autoHalt ?? false)
      if let course { lines.append("\(course); `xcache rollout show` says what it waits for") }
    }
    return lines
  }
}
