import Manifests
import OriginAPI
import OriginClient
import System
import Values

/// `xcache approve [ID]`: what waits for approvals, and consent to it.
enum ApproveCommand {
  static let command = Command(
    name: "approve", operands: "[ID]",
    summary: "approve what waits in a protected channel",
    examples: [
      .init("", "what waits, in all channels"),
      .init("553", "show what it would do, and ask"),
      .init("553 -y -m 'tested on staging'", "without a question"),
    ],
    notes: """
      In a protected channel ('xcache channel protect'), a publish, unpublish, promotion, prefetch push, policy change or
      step of a rollout waits until others have approved it: not whoever asked for it, and no CI job. It takes scope
      release. Rollback, halt, pause and kill never wait. What would be done if it were carried out now is shown first; with
      the last approval, it is carried out, at once or at its time, and approve waits for it. If it waits for signatures,
      too, 'xcache sign' adds those, before or after. Approving again while it waits changes nothing. After 30 days it is missed.
      """,
    options: Command.remote + [
      .value("message", "TEXT", short: "m", "a remark for the audit trail"),
      .flag("yes", short: "y", "don't ask"), Command.all,
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let api = try RemoteOrigin(arguments, namesApp: false, namesChannel: false).api
    guard !arguments.operands.isEmpty else {
      if arguments.isGiven("message") { throw UsageError("ID is missing: --message is about one act") }
      return try list(api, arguments, terminal)
    }
    let id = try id(arguments)
    let message = try arguments.text("message")
    let act = try find(id, api)
    let channel = ChannelAddress(act.app, act.channel)
    // What can't be approved is refused by the origin, in its words.
    if act.schedule.approvals?.mayApprove == true, !arguments.has("yes") {
      guard try isConfirmed(act, channel, api, arguments, terminal) else { return .done }
    }
    let approved = try api.approve(id, ApproveRequest(message: message), in: channel)
    let settled = SettledAct(noun: "act", channel: channel, api: api, terminal: terminal)
    let (ended, words): (OriginAnswer<ScheduledInfo>, String)
    if approved.value.isHeld {
      (ended, words) = (approved, waiting(approved.value, channel))
    } else {
      let isLater = approved.value.due.milliseconds > Clock.unixMilliseconds() + 10_000
      (ended, words) = try settled.finish(approved, isLater: isLater, done: "approved; ")
    }
    if arguments.has("json") {
      terminal.say(json: ended.document)
    } else {
      terminal.say("approved; \(words)")
    }
    return .done
  }

  /// Reads the act's number.
  static func id(_ arguments: Arguments) throws(UsageError) -> Int64 {
    let text = try arguments.operands("ID")[0]
    guard let id = Int64(text), id > 0, text.first != "+" else {
      throw UsageError("\(text) is not the number of an act that waits; `xcache approve` lists them")
    }
    return id
  }

  /// Returns the act with this number, and where it waits.
  /// - Throws: `Failure` if there is none that this token may see.
  static func find(_ id: Int64, _ api: OriginClient) throws -> WaitingAct {
    if let act = try api.waitingActs().value.acts.first(where: { $0.schedule.id == id }) { return act }
    throw Failure(
      "act \(id) doesn't wait for approvals or signatures: it was carried out, has ended, or isn't there; `xcache approve` lists what waits",
      code: .refused, name: "schedule-over")
  }

  /// What an act still waits for.
  private static func waiting(_ act: ScheduledInfo, _ channel: ChannelAddress) -> String {
    let place = " --app \(channel.app)\(channel.channel.option)"
    let signatures = act.isUnsigned ? "; `xcache sign \(act.id)\(place)` adds a signature" : ""
    return "act \(act.id) \(act.remainder(channel.channel))\(signatures)"
  }

  // MARK: - What waits

  private static func list(_ api: OriginClient, _ arguments: Arguments, _ terminal: Terminal) throws
    -> ExitCode
  {
    let answer = try api.waitingActs()
    if arguments.has("json") {
      terminal.say(json: answer.document)
    } else {
      terminal.say(list: table(answer.value.acts), head: 1, all: arguments.has("all"))
    }
    return .done
  }

  static func table(_ acts: [WaitingAct]) -> [String] {
    if acts.isEmpty { return ["nothing waits for approvals or signatures"] }
    var table = Table(
      ["ID", "APP", "CHANNEL", "WHAT", "BY", "SINCE", "FOR YOU?", "STATE"], rightAligned: [0])
    for act in acts {
      let info = act.schedule
      let isYours =
        info.approvals.map { $0.missing == 0 ? "approved" : $0.mayApprove ? "to approve" : "no" } ?? ""
      table.add([
        "\(info.id)", act.app.text, act.channel.text, info.summary, info.author, info.at.formatted, isYours,
        info.remainder(act.channel),
      ])
    }
    return table.lines
  }

  // MARK: - What it would do

  /// Shows what an act would do, and asks. A program has to say that it doesn't want to be asked.
  private static func isConfirmed(
    _ act: WaitingAct, _ channel: ChannelAddress, _ api: OriginClient, _ arguments: Arguments,
    _ terminal: Terminal
  ) throws -> Bool {
    let words = "-y approves without a question"
    if arguments.has("json") { throw UsageError("with --json nothing can be asked; \(words)") }
    terminal.note(
      "act \(act.schedule.id), \(channel.app) \(channel.channel): \(act.schedule.summary), by \(act.schedule.author) at "
        + act.schedule.at.formatted)
    do throws(OriginError) {
      let preview = try api.preview(act.schedule.id, in: channel).value
      terminal.note(list: PreviewLines.of(preview, terminal), all: arguments.has("all"))
    } catch {
      guard let problem = error.problem, problem.status < 500 else { throw error }
      terminal.note(
        terminal.colour("as things are now it would fail: \(problem.message.onOneLine)", .yellow))
    }
    guard let isConfirmed = try terminal.confirms("approve act \(act.schedule.id)?") else {
      throw UsageError("there is no terminal to ask on; \(words)")
    }
    if !isConfirmed { terminal.note("nothing was approved") }
    return isConfirmed
  }
}

/// `xcache reject ID`: ends what waits for approvals.
enum RejectCommand {
  static let command = Command(
    name: "reject", operands: "ID", summary: "reject what waits in a protected channel",
    examples: [.init("553 -m 'the checkout page is broken'", "it is never carried out")],
    notes: """
      Whoever may approve an act may reject it ('xcache approve' lists what waits); whoever asked for it takes it back with
      'xcache schedule cancel'. It ends as cancelled, with the reason.
      """,
    options: Command.remote + [.value("message", "TEXT", short: "m", "why; required")],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    if arguments.operands.isEmpty { throw UsageError("ID is missing; `xcache approve` lists what waits") }
    let id = try ApproveCommand.id(arguments)
    guard let message = try arguments.text("message"), !message.allSatisfy(\.isWhitespace) else {
      throw UsageError("-m TEXT is required: why it is rejected, for whoever asked for it")
    }
    let api = try RemoteOrigin(arguments, namesApp: false, namesChannel: false).api
    let act = try ApproveCommand.find(id, api)
    let rejected = try api.reject(
      id, RejectRequest(message: message), in: ChannelAddress(act.app, act.channel))
    if arguments.has("json") {
      terminal.say(json: rejected.document)
    } else {
      terminal.say("rejected: \(rejected.value.summary), by \(rejected.value.author); it isn't carried out")
    }
    return .done
  }
}
