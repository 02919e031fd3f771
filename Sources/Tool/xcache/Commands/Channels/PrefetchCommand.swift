import Manifests
import OriginAPI
import OriginClient
import Publishing
import Values
import XCacheDevice

/// `xcache prefetch push | show | log | rollback | check | run`.
enum PrefetchCommand {
  static let command = Command(
    name: "prefetch", operands: "push FILE | show | log | rollback --to V | check [FILE] | run PAGE [FILE]",
    summary: "manage the requests that devices prefetch when a page opens",
    examples: [
      .init(
        "check prefetch.json --url 'https://m.example.com/help/new?id=163'",
        "what a device would send; needs no server"),
      .init("push prefetch.json --app shop -m 'help page'", "publish it"),
      .init("push prefetch.json --app shop --rollout 5%", "to 5 % of the devices first"),
      .init("rollback --to 3 --app shop", "go back to an older version"),
    ],
    notes: """
      A channel's prefetch config has its own version numbers. A push creates no manifest version, but devices learn of
      it at their next poll. FILE is JSON: what show prints (without --json), or the whole document. check needs no
      server if FILE is given; --url URL prints what a device would send for that page. run sends these requests, all
      at once and without cookies, and prints how long each takes; exit code 1: not all were answered in full.
      "urlParam":true passes a page's parameters to the api's URL, "bodyParam":true to its body, as strings;
      "paramTypes":{"id":"number"} makes them numbers. rollback --to 0 empties the config. V is a version of the
      config, or a time at which it was live. push --rollout 5% lets it go to 5 % of the devices first: along with the
      candidate of the open rollout, if that goes to the same devices, or with a candidate of its own, which holds the
      same files as the live version. `xcache rollout` then widens it, completes it or takes it back.
      """,
    options: Command.remote + Command.channel + [
      .value("message", "TEXT", short: "m", "a message for the log").only("push", "rollback"),
      .value("if-version", "V", "refuse if the config changed after version V (a number or a time)").only(
        "push", "rollback"),
      .value("break-glass", "REASON", "change it even if the channel is frozen; the reason is recorded").only(
        "push", "rollback"),
      .value("version", "V", "show or check this version (default: the newest)").only("show", "check", "run"),
      VersionArgument.option.only("show", "check", "run", "rollback"),
    ] + (RolloutCommand.releaseOptions + GivenSigning.options).map { $0.only("push") } + [
      .value("to", "V", "the version to go back to").only("rollback"),
      .value("url", "URL", "print the requests for this page (check)").only("check"),
      .value("timeout", "TIME", "stop waiting for answers after TIME (run; default: 30s)").only("run"),
      .value("limit", "N", "show N versions (log; default: 20)").only("log"),
      Command.all.only("log", "push", "check"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    switch arguments.operands.first {
    case "push": try push(try arguments.operands("push", "FILE")[1], arguments, terminal)
    case "show": try show(arguments, terminal)
    case "log":
      _ = try arguments.operands("log")
      try DocumentLog.run("prefetch", arguments, terminal)
    case "rollback": try rollback(arguments, terminal)
    case "check": try check(arguments, terminal)
    case "run": try send(arguments, terminal)
    default: throw UsageError("expected prefetch push FILE, show, log, rollback, check or run")
    }
    return .done
  }

  private static func push(_ file: String, _ arguments: Arguments, _ terminal: Terminal) throws {
    let remote = try RemoteOrigin(arguments)
    let checked = PrefetchCheck(try Arguments.file(file))
    let remarks = Remarks(file: file, remarks: checked.remarks)
    terminal.note(list: remarks.lines(terminal), all: arguments.has("all"))
    if let failure = remarks.failure("nothing was pushed") { throw failure }
    guard let config = checked.config else { return }
    var request = try DocumentChange.filled(PrefetchPushRequest(document: config.json), arguments)
    request.breakGlass = try arguments.breakGlass()
    request.rollout = try RolloutCommand.terms(arguments)
    request.ifNoRollout = arguments.has("if-no-rollout") ? true : nil
    let publisher = Publisher(try remote.api, cache: PublishCache(path: nil)) { step in
      if let remark = GivenSigning.remark(step) { terminal.remark(remark) }
    }
    let (answer, statement) = try publisher.push(
      request, config.json.canonical, to: try remote.address,
      try GivenSigning.terms(arguments, remote, terminal))
    DocumentChange.tell(
      answer, Self.message(config), replaces: request.rollout == nil, in: remote.channel, arguments, terminal)
    if let statement, !arguments.has("json"), !terminal.isQuiet {
      terminal.say(
        "signed with \(GivenSigning.keys(statement.envelope.signatures.map(\.key.text))), serial \(statement.document.serial)"
      )
    }
    if answer.value.scheduled != nil { return }
    guard !arguments.has("json"), answer.value.changed, let rollout = answer.value.rollout else {
      if request.rollout == nil { left(answer.value, remote, arguments, terminal) }
      return
    }
    if let replaced = answer.value.replaced, replaced.rollout != nil {
      terminal.say("replaces \(DocumentLog.line(replaced)), which went to the same devices")
    }
    terminal.say(
      answer.value.receipt == nil
        ? "joins the rollout of version \(rollout.version)"
        : "begins a rollout: its candidate, version \(rollout.version), has the files of version \(rollout.full)"
    )
    terminal.say(
      "goes to \(rollout.audience)\(rollout.paused ? "; paused: no further device is let in" : ""); all others keep the config "
        + "that they have")
    for line in waiting(remote) { terminal.say(line) }
    if let receipt = answer.value.receipt { terminal.say("receipt \(receipt)") }
  }

  /// The steps of the rollout that are scheduled, which this config will be part of.
  private static func waiting(_ remote: RemoteOrigin) -> [String] {
    guard let address = try? remote.address, let api = try? remote.api else { return [] }
    return ScheduleCommand.waiting(address, api).filter { $0.act.hasPrefix("rollout.") }.map {
      "scheduled act \($0.id), \($0.summary), is about this config, too: \($0.due.formatted)"
    }
  }

  /// What a config for all devices that changes nothing leaves open, for its author, who may have thought of the candidate's.
  private static func left(
    _ answer: DocumentChangeAnswer, _ remote: RemoteOrigin, _ arguments: Arguments, _ terminal: Terminal
  ) {
    guard !answer.changed, !arguments.has("json"), !terminal.isQuiet, let address = try? remote.address,
      let open = try? remote.api.rollouts(of: address).value.open, let prefetch = open.prefetch
    else { return }
    terminal.remark(
      "prefetch config \(prefetch) still goes to \(open.audience), along with version \(open.version); "
        + "`xcache rollout halt -m TEXT` takes both back")
  }

  private static func message(_ config: PrefetchConfig) -> String {
    let (pages, calls) = (config.pages.count, config.callCount)
    return "\(pages) \(pages == 1 ? "page" : "pages"), \(calls) \(calls == 1 ? "call" : "calls")"
  }

  private static func show(_ arguments: Arguments, _ terminal: Terminal) throws {
    _ = try arguments.operands("show")
    let record = try record(RemoteOrigin(arguments), arguments)
    if arguments.has("json") {
      terminal.say(json: record.document)
    } else {
      terminal.remark(DocumentLog.line(record.value))
      if !arguments.isGiven("version"), !arguments.isGiven("at"), !terminal.isQuiet,
        let open = try? RemoteOrigin(arguments).api.rollouts(of: RemoteOrigin(arguments).address).value.open,
        let prefetch = open.prefetch
      {
        terminal.remark("config \(prefetch) goes to \(open.audience); --version \(prefetch) shows it")
      }
      terminal.say(PrettyJSON.text(record.value.config ?? []))
    }
  }

  private static func record(_ remote: RemoteOrigin, _ arguments: Arguments) throws
    -> OriginAnswer<DocumentAnswer>
  {
    let version = try VersionArgument.one(arguments, try arguments.value("version"))
    return try remote.api.prefetch(of: try remote.address, version: version)
  }

  private static func rollback(_ arguments: Arguments, _ terminal: Terminal) throws {
    _ = try arguments.operands("rollback")
    guard let version = try VersionArgument.one(arguments, try arguments.value("to")) else {
      throw UsageError("--to V or --at TIME is required: the version to go back to")
    }
    let remote = try RemoteOrigin(arguments)
    var request = try DocumentChange.filled(PrefetchRollbackRequest(to: version), arguments)
    request.breakGlass = try arguments.breakGlass()
    let answer = try remote.api.rollBackPrefetch(request, in: try remote.address)
    let source = answer.value.made?.source?.text ?? version
    DocumentChange.tell(
      answer, "content of version \(source)", replaces: true, in: remote.channel, arguments, terminal)
    left(answer.value, remote, arguments, terminal)
  }

  // MARK: - Check

  private static func check(_ arguments: Arguments, _ terminal: Terminal) throws {
    let (name, checked) = try subject(arguments, "check")
    let remarks = Remarks(file: name, remarks: checked.remarks)
    let page = try arguments.value("url")
    if let page, (try? ResourceURL(page)) == nil {
      throw UsageError(SettingsError.message(ofPage: page, in: "--url"))
    }
    let failure = remarks.failure("it can't be pushed")
    if arguments.has("json") {
      terminal.say(json: json(checked, page), failure)
    } else {
      terminal.note(list: remarks.lines(terminal), all: arguments.has("all"))
    }
    if let failure { throw failure }
    guard let config = checked.config, !arguments.has("json") else { return }
    guard let page else {
      terminal.say("\(name): \(Self.message(config)); no problems found")
      return
    }
    for line in preview(config, page) { terminal.say(line) }
  }

  /// Returns the named file, or the channel's config.
  private static func subject(
    _ arguments: Arguments, _ words: String...
  ) throws -> (name: String, check: PrefetchCheck) {
    if arguments.operands.count > words.count, let file = arguments.operands.last {
      guard arguments.operands.count == words.count + 1 else {
        throw UsageError("prefetch \(words.joined(separator: " ")) takes at most one FILE")
      }
      return (file, PrefetchCheck(try Arguments.file(file)))
    }
    let record = try record(RemoteOrigin(arguments), arguments).value
    return ("version \(record.version)", PrefetchCheck(record.config ?? []))
  }

  // MARK: - Run

  private static func send(_ arguments: Arguments, _ terminal: Terminal) throws {
    guard arguments.operands.count > 1 else { throw UsageError("PAGE is missing: prefetch run PAGE") }
    let page = arguments.operands[1]
    let (name, checked) = try subject(arguments, "run", "PAGE")
    guard let config = checked.config else { throw Failure("\(name) can't be used; prefetch check says why") }
    let timeout = try arguments.value("timeout") ?? "30s"
    guard let seconds = Arguments.seconds(of: timeout, in: "smh") else {
      throw UsageError("--timeout takes a duration such as 30s, 5m or 1h, not \"\(timeout)\"")
    }
    let run = PrefetchRun(plan: PrefetchPlan(checked: config), page: page, timeout: seconds)
    let outcomes = try run.run()
    let failed = outcomes.count { $0.failure != nil }
    let failure =
      failed > 0 ? Failure("\(Count.text(failed, "call")) got no answer", name: "unreachable") : nil
    if arguments.has("json") {
      terminal.say(json: ["calls": .array(outcomes.map(\.json))], failure)
    } else if outcomes.isEmpty {
      terminal.say("no entry matches this page, so devices send nothing: \(page)")
    } else {
      for line in PrefetchRun.lines(outcomes) { terminal.say(line) }
    }
    if let failure { throw failure }
  }

  private static func preview(_ config: PrefetchConfig, _ page: String) -> [String] {
    let plan = PrefetchPlan(checked: config)
    guard let entry = plan.entry(for: page) else {
      return ["no entry matches this page, so devices send nothing: \(page)"]
    }
    var lines = ["entry \(entry)"]
    for request in plan.requests(for: page) {
      lines.append("\(request.method) \(request.url)")
      guard let body = request.body else { continue }
      lines.append("  Content-Type: \(request.contentType ?? "")")
      lines.append("  \(body)" + (request.method == "GET" ? "    (not sent by iOS)" : ""))
    }
    return lines
  }

  private static func json(_ checked: PrefetchCheck, _ page: String?) -> JSONValue {
    var document = JSONObject()
    document["remarks"] = .array(checked.remarks.map(\.json))
    document["valid"] = .bool(checked.config != nil)
    if let config = checked.config, let page {
      let plan = PrefetchPlan(checked: config)
      document["entry"] = plan.entry(for: page).map { .string($0) } ?? .null
      document["requests"] = .array(
        plan.requests(for: page).map { request in
          [
            "body": request.body.map { .string($0) } ?? .null, "method": .string(request.method),
            "url": .string(request.url),
          ]
        })
    }
    return .object(document)
  }
}
