import Manifests
import OriginAPI
import OriginClient
import Publishing
import Values

/// `xcache schedule list | show | cancel`: what is to be done later.
enum ScheduleCommand {
  static let command = Command(
    name: "schedule", operands: "list | show ID | cancel ID",
    summary: "list and cancel what is scheduled",
    examples: [
      .init("list --app shop", "what is to be done when, and what became of earlier acts"),
      .init("show 7", "one of them, and what it waits for"),
      .init("cancel 7 --app shop", "take one back"),
    ],
    notes: """
      publish, unpublish, promote, rollback and the steps of rollout take --schedule TIME, such as
      2026-12-01T02:00+08:00, at most a year ahead. Everything is uploaded and checked at once, and what an act needs is
      kept until then. It is carried out on the state of that time: a publish replaces what its bundle holds then, and
      --if-version is checked again. A rollback or promotion goes to the version that was named, or was meant, when it was
      scheduled, and a step of a rollout fails if another candidate is open by then. The token that scheduled it has to be
      valid and allowed to do it then, too. A freeze at that time refuses it, except with --break-glass. An act that fails
      isn't tried again, and status names it for 7 days. If the origin doesn't run at the time, the act follows when it
      starts, within 24 hours; later, it is missed. Acts of the same second run in the order in which they were scheduled.
      A release that has too few signatures is listed as unsigned: 'xcache sign' adds one, and its time counts once it has
      all. What has too few approvals is listed as unapproved: 'xcache approve'. After 30 days without them it is missed.
      show and cancel find what waits for signatures or approvals by its number alone; for other acts, give the app and the
      channel.
      """,
    options: Command.remote + Command.channel + [Command.all.only("list")], run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let document: JSONValue
    let lines: [String]
    switch arguments.operands.first {
    case "list":
      _ = try arguments.operands("list")
      let remote = try RemoteOrigin(arguments)
      let channel = try remote.address
      let list = try remote.api.schedules(of: channel)
      (document, lines) = (list.document, table(list.value.schedules, channel.channel))
    case "show":
      let id = try id(arguments, "show")
      let remote = try RemoteOrigin(arguments)
      let channel = try place(of: id, remote)
      let act = try remote.api.schedule(id, of: channel)
      (document, lines) = (act.document, Self.lines(act.value, channel.channel))
    case "cancel":
      let id = try id(arguments, "cancel")
      let remote = try RemoteOrigin(arguments)
      let act = try remote.api.cancelSchedule(id, of: try place(of: id, remote))
      document = act.document
      let since =
        act.value.hasTime
        ? "was scheduled for \(act.value.due.formatted)"
        : act.value.approvals == nil ? "waited for signatures" : "waited for approvals"
      lines = ["cancelled: \(act.value.summary), which \(since)"]
    default: throw UsageError("expected schedule list, show ID or cancel ID")
    }
    if arguments.has("json") {
      terminal.say(json: document)
    } else {
      terminal.say(list: lines, head: 1, all: arguments.has("all") || arguments.operands.first != "list")
    }
    return .done
  }

  /// The acts that wait in a channel; none if they can't be had.
  static func waiting(_ channel: ChannelAddress, _ api: OriginClient) -> [ScheduledInfo] {
    ((try? api.schedules(of: channel).value.schedules) ?? []).filter { $0.state == "waiting" }
  }

  /// Returns the channel of an act. Where app or channel aren't given, one that waits for signatures or approvals is looked up: an
  /// origin's acts have different numbers.
  private static func place(of id: Int64, _ remote: RemoteOrigin) throws -> ChannelAddress {
    guard remote.settings.app == nil || remote.settings.channel == nil else { return try remote.address }
    // With an app, an origin that can't list what waits isn't in the way.
    let waiting = remote.settings.app == nil ? try remote.api.waitingActs() : try? remote.api.waitingActs()
    let found = waiting?.value.acts.first {
      $0.schedule.id == id && $0.app == remote.settings.app ?? $0.app
    }
    return try found.map { ChannelAddress($0.app, $0.channel) } ?? remote.address
  }

  private static func id(_ arguments: Arguments, _ verb: String) throws(UsageError) -> Int64 {
    try id(try arguments.operands(verb, "ID")[1])
  }

  /// Reads the number of an act.
  static func id(_ text: String) throws(UsageError) -> Int64 {
    guard let id = Int64(text), id > 0, text.first != "+" else {
      throw UsageError("\(text) is not the number of a scheduled act; `xcache schedule list` lists them")
    }
    return id
  }

  private static func table(_ acts: [ScheduledInfo], _ channel: ChannelName) -> [String] {
    if acts.isEmpty { return ["nothing is scheduled"] }
    var table = Table(["ID", "DUE", "STATE", "BY", "WHAT", "RESULT"], rightAligned: [0])
    for act in acts {
      let result =
        act.version.map { "version \($0)" } ?? act.reason?.onOneLine
        ?? (act.isHeld ? act.remainder(channel) : "")
      let due = act.isHeld && !act.hasTime ? "once \(act.heldWords)" : act.due.formatted
      table.add(["\(act.id)", due, act.stateWord, act.author, act.summary, result])
    }
    return table.lines
  }

  private static func lines(_ act: ScheduledInfo, _ channel: ChannelName) -> [String] {
    let wanted = act.isHeld ? act.heldWords : act.approvals == nil ? "signed" : "approved"
    let due = act.hasTime ? "due \(act.due.formatted)" : "due as soon as it is \(wanted)"
    var lines = [
      "\(act.summary): \(act.stateWord)",
      act.isHeld ? "\(due); missed after \(AwaitedWords.end(of: act).formatted)" : due,
      "\(act.hasTime ? "scheduled" : act.approvals == nil ? "published" : "asked for") by \(act.author), \(act.at.formatted)",
    ]
    for awaited in act.isUnsigned ? act.signatures ?? [] : [] {
      let signed = "bundle \(awaited.bundle): signed by \(AwaitedWords.list(awaited.keys))"
      lines.append(
        awaited.missing > 0
          ? "\(signed); waits for \(AwaitedWords.text(missing: awaited.missing, of: awaited.needed, by: awaited.candidates))"
          : signed)
    }
    for approval in act.approvals?.given ?? [] {
      lines.append("approved by \(approval.name), \(approval.at.formatted)")
    }
    if act.isUnapproved {
      let why = act.approvals?.why.map { "; \($0.onOneLine)" } ?? ""
      lines.append("waits for \(act.missingApprovals): `xcache approve \(act.id)`\(why)")
    }
    if act.refusal != nil || act.isComplete { lines.append("release \(act.id) \(act.remainder(channel))") }
    if let at = act.endedAt {
      lines.append("\(act.stateWord) \(at.formatted)\(act.endedBy.map { ", by \($0)" } ?? "")")
    }
    if let version = act.version { lines.append("made version \(version)") }
    if let reason = act.reason {
      lines.append("\(act.state == "waiting" ? "not yet carried out" : "because"): \(reason.onOneLine)")
    }
    return lines
  }
}
