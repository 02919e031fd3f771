import Manifests
import OriginAPI
import Publishing
import System
import Values

/// `xcache policy show | log | set | bypass | kill | resume | script`.
enum PolicyCommand {
  static let command = Command(
    name: "policy",
    operands: """
      show | log | set FILE | bypass list | bypass add PATTERN | bypass remove PATTERN | kill | resume
         | script key FILE | script sign FILE | script add FILE | script remove NAME
      """,
    summary: "manage an app's device policy: kill switch, bypasses and scripts",
    examples: [
      .init("kill -m 'white screens' --app shop", "devices use only the network, for 4 hours"),
      .init("resume --app shop", "devices use their copies again"),
      .init("bypass add 'https://pay.example.com/*' --for 2d", "these pages use the network"),
      .init("script key script.pem", "create a signing key"),
      .init("script add interceptor.js --key script.pem", "sign a script and add it to pages"),
    ],
    notes: """
      Devices receive the policy with their next poll. kill makes apps and browsers use only the network for --for, 4h
      unless given, or with --until-resumed until resume; status shows it. They keep their files, go on polling, and
      come back by themselves when it ends. Nothing is removed from them: to remove the service worker from browsers
      for good, publish and deploy a build after 'xcache web remove'. A PATTERN is a URL with wildcards: https://third.example.com/*,
      *://*.example.com/pay/*. Its query is compared only if it contains a ?. Scripts are signed away from the server:
      a 64-byte Ed25519 signature of the file, in Base64; the app contains the public key. script key creates the key
      as a file that only you can read (PEM, as from 'openssl genpkey -algorithm ed25519') and prints the public key
      for the app; script sign prints a signature for a later add; script add --key signs at once.
      Scripts need an admin token. Everything else, including kill and resume, needs only a publish token: whoever may
      release anything in a channel may also stop it. A token that is limited to bundles (token create --bundle) may
      do none of it.
      "httpdns":false in a policy makes devices use only the system's DNS.
      set takes the whole policy, as "policy" in 'show --json'. show --at TIME prints the policy of that time.
      """,
    options: Command.remote + Command.channel + [
      .value("for", "TIME", "end after this time: 30m, 6h, 2d (default: 4h for kill, never for a bypass)")
        .only(
          "kill", "bypass"),
      .flag("until-resumed", "end kill only by resume").only("kill"),
      .value("name", "NAME", "the script's name (default: the file name)").only("script"),
      .value("signature", "SIG", "the script's signature in Base64").only("script"),
      .value(
        "key", "FILE", "the key to sign the script with, instead of --signature (script sign, script add)"
      ).only("script"),
      .value("message", "TEXT", short: "m", "a message for the log").only(
        "set", "bypass", "kill", "resume", "script"),
      .value("if-version", "V", "refuse if the policy changed after version V (a number or a time)").only(
        "set", "bypass", "kill", "resume", "script"),
      .value("version", "V", "show this version (default: the newest)").only("show"),
      VersionArgument.option.only("show"),
      .value("limit", "N", "show N versions (log; default: 20)").only("log"),
      Command.all.only("log", "show", "set", "bypass"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let words = arguments.operands
    switch (words.first, words.dropFirst().first) {
    case ("show", _): try show(arguments, terminal)
    case ("log", _):
      _ = try arguments.operands("log")
      try DocumentLog.run("policy", arguments, terminal)
    case ("set", _): try set(try arguments.operands("set", "FILE")[1], arguments, terminal)
    case ("kill", _):
      _ = try arguments.operands("kill")
      var request = PolicyRequest(.kill)
      request.until = try killEnd(arguments)
      try keepLongerKill(&request, arguments, terminal)
      try act(request, "interception is off", arguments, terminal)
      terminal.remark(
        "apps and browsers use only the network from their next poll on, keep their files, and come back by themselves "
          + (request.until == nil ? "after `xcache policy resume`" : "then, or after `xcache policy resume`"))
      EdgeOutput.remark(arguments, terminal)
    case ("resume", _):
      _ = try arguments.operands("resume")
      if try act(PolicyRequest(.resume), "interception is on", arguments, terminal) {
        EdgeOutput.remark(arguments, terminal)
      }
    case ("bypass", "list"): try listBypasses(arguments, terminal)
    case ("bypass", "add"):
      var request = PolicyRequest(.bypassAdd)
      let text = try pattern(arguments.operands("bypass", "add", "PATTERN")[2])
      (request.pattern, request.until) = (text, try until(arguments))
      try act(request, "bypassed \(text)", arguments, terminal)
    case ("bypass", "remove"):
      var request = PolicyRequest(.bypassRemove)
      let text = try pattern(arguments.operands("bypass", "remove", "PATTERN")[2])
      request.pattern = text
      try act(request, "removed the bypass of \(text)", arguments, terminal)
    case ("script", "key"): try PolicyScripts.makeKey(arguments, terminal)
    case ("script", "sign"): try PolicyScripts.sign(arguments, terminal)
    case ("script", "add"):
      let (request, words) = try PolicyScripts.adding(arguments)
      try act(request, words, arguments, terminal)
    case ("script", "remove"):
      var request = PolicyRequest(.scriptRemove)
      let name = try arguments.operands("script", "remove", "NAME")[2]
      request.name = name
      try act(request, "removed script \(name)", arguments, terminal)
    case (let word?, _):
      let second = [
        "bypass": "list, add PATTERN or remove PATTERN", "script": "key, sign, add FILE or remove NAME",
      ]
      throw UsageError("policy \(word) needs a subcommand: \(second[word] ?? "")")
    case (nil, _): throw UsageError("expected policy show, log, set, bypass, kill, resume or script")
    }
    return .done
  }

  private static func show(_ arguments: Arguments, _ terminal: Terminal) throws {
    _ = try arguments.operands("show")
    let remote = try RemoteOrigin(arguments)
    let version = try VersionArgument.one(arguments, try arguments.value("version"))
    let record = try remote.api.policy(of: try remote.address, version: version)
    if arguments.has("json") { return terminal.say(json: record.document) }
    terminal.say(
      terminal.colour("\(try remote.app) \(remote.channel)", .bold)
        + "  policy \(DocumentLog.line(record.value))")
    terminal.say(list: PolicyOutput(record.value.policy).lines(terminal), all: arguments.has("all"))
  }

  private static func listBypasses(_ arguments: Arguments, _ terminal: Terminal) throws {
    _ = try arguments.operands("bypass", "list")
    let remote = try RemoteOrigin(arguments)
    let policy = Policy(reading: try remote.api.policy(of: try remote.address).value.policy ?? .null)
    let entries = policy.current(at: Instant(milliseconds: Clock.unixMilliseconds())).bypass
    if arguments.has("json") {
      let list = entries.map { entry -> JSONValue in
        [
          "pattern": .string(entry.pattern.text), "until": entry.until.map { .string($0.text) } ?? .null,
        ]
      }
      return terminal.say(json: ["bypass": .array(list)])
    }
    if entries.isEmpty { return terminal.say("no page is bypassed") }
    var table = Table(["PATTERN", "UNTIL"])
    for entry in entries { table.add([entry.pattern.text, entry.until?.text ?? "no end"]) }
    terminal.say(list: table.lines, head: 1, all: arguments.has("all"))
  }

  // MARK: - Acts

  /// Changes the policy; returns whether that was done, and doesn't wait for approvals.
  @discardableResult
  private static func act(
    _ request: PolicyRequest, _ done: String, _ arguments: Arguments, _ terminal: Terminal
  ) throws -> Bool {
    let remote = try RemoteOrigin(arguments)
    let request = try DocumentChange.filled(request, arguments)
    let answer = try remote.api.changePolicy(request, of: try remote.address)
    let end = request.until.map { " until \($0)" } ?? ""
    DocumentChange.tell(
      answer, done + end, replaces: request.document != nil, in: remote.channel, arguments, terminal)
    return answer.value.scheduled == nil
  }

  private static func until(_ arguments: Arguments) throws -> String? {
    try arguments.moment(ahead: "for")?.text
  }

  /// How long kill lasts unless its end is given, in seconds: a switch that is forgotten costs every page its speed.
  private static let killLife: Int64 = 4 * 3600

  /// Returns when kill ends; nil if only resume ends it.
  private static func killEnd(_ arguments: Arguments) throws -> String? {
    let end = try until(arguments)
    guard arguments.has("until-resumed") else {
      return end ?? Instant(seconds: Clock.unixMilliseconds() / 1000 + killLife).text
    }
    if end != nil { throw UsageError("give either --for or --until-resumed, not both") }
    return nil
  }

  /// Devices ask every 30 seconds at most, and with a channel's longer interval later: a shorter switch reaches hardly any.
  private static let leastKill: Int64 = 60

  /// A switch that is on already for longer isn't shortened by the default, and not silently by `--for`.
  private static func keepLongerKill(
    _ request: inout PolicyRequest, _ arguments: Arguments, _ terminal: Terminal
  ) throws {
    let now = Instant(milliseconds: Clock.unixMilliseconds())
    let end = request.until.flatMap { Instant($0) }
    if arguments.has("for"), let end, end.seconds - now.seconds < leastKill {
      throw UsageError(
        "--for is less than \(leastKill) seconds, in which hardly any device asks for the policy")
    }
    let remote = try RemoteOrigin(arguments)
    guard let end, let record = try? remote.api.policy(of: try remote.address).value else { return }
    let live = Policy(reading: record.policy ?? .null)
    guard live.isKilled(at: now), live.until.map({ end < $0 }) ?? true else { return }
    let words = live.until.map { "off until \($0.text)" } ?? "off until it is resumed"
    if arguments.has("for") {
      terminal.remark("interception was \(words); now it comes back earlier")
    } else {
      terminal.remark(
        "interception was \(words), which stays; --for or `xcache policy resume` ends it earlier")
      request.until = live.until?.text
    }
  }

  private static func pattern(_ text: String) throws -> String {
    do {
      return try MatchPattern(text).text
    } catch {
      throw UsageError("\(text): \(error)")
    }
  }

  private static func set(_ file: String, _ arguments: Arguments, _ terminal: Terminal) throws {
    let remote = try RemoteOrigin(arguments)
    let newest = try remote.api.policy(of: try remote.address).value
    let scripts = Policy(reading: newest.policy ?? .null).scripts
    let now = Instant(milliseconds: Clock.unixMilliseconds())
    let checked = PolicyCheck(try Arguments.file(file), scripts: scripts, now: now)
    let remarks = Remarks(file: file, remarks: checked.remarks)
    terminal.note(list: remarks.lines(terminal), all: arguments.has("all"))
    if let failure = remarks.failure("nothing was changed") { throw failure }
    guard let policy = checked.policy else { return }
    var request = PolicyRequest(.set)
    request.document = .object(policy.json)
    try act(request, "set by \(file)", arguments, terminal)
  }
}
