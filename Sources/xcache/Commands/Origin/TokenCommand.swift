import Manifests
import OriginAPI
import Publishing
import Store
import System

/// `xcache token create | list | revoke`.
enum TokenCommand {
  static let command = Command(
    name: "token", operands: "create --name NAME | list | revoke NAME",
    summary: "manage access tokens",
    examples: [
      .init("create ci-shop --app shop --expires 90d", "may publish to this app only"),
      .init("list", "all tokens, and when they were last used"),
      .init("revoke ci-shop", "takes effect at once"),
    ],
    notes: """
      The token itself is printed only once. Scopes:
      read     status, log, show, diff, mirror
      publish  also publish, unpublish, rollback, promote, pin, prefetch and policy (kill and resume, but not scripts);
               with --bundle only releases of these bundles: the right one for a CI job
      admin    also tokens, new apps and channels, freeze, hosts, policy scripts, gc, audit
      If the last admin token is lost, stop the server and create a new one with --data.
      """,
    options: Command.remote + [
      .value("app", "NAME", "only for this app (create; default: all apps)").only("create"),
      .value("channel", "NAME", "only for this channel of the app (create; default: all channels)").only(
        "create"),
      .value("name", "NAME", "the token's name (create)").only("create"),
      .value(
        "bundle", "GLOB",
        "only for matching bundles, with * and ? as wildcards (create; default: all bundles)"
      ).only("create"),
      .value(
        "hosts", "NAMES",
        "only for URLs of these hosts, such as m.example.com,*.example.org (create; default: all hosts)"
      ).only("create"),
      .value("expires", "TIME", "the token's lifetime, such as 90d, 12h or 2w (create; default: unlimited)")
        .only("create"),
      .value(
        "scope", "SCOPE", choices: ["read", "publish", "admin"],
        "read, publish or admin (create; default: publish)"
      ).only("create"),
      .value("data", "DIR", "use this data folder instead of a server").only("create"),
      Command.all.only("list"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let document: JSONValue
    let lines: [String]
    switch arguments.operands.first {
    case "create":
      let text: String
      // A closed output must not end this program before the token is revoked.
      Signals.ignorePipe()
      (document, text) = try create(arguments, try name(arguments))
      warnOfUnknownApp(arguments, terminal)
      if arguments.has("json") { terminal.say(json: document) } else { terminal.say(text) }
      guard let error = Terminal.unwrittenResult else { return .done }
      throw lost(document["id"]?.string ?? "", error, arguments)
    case "list":
      _ = try arguments.operands("list")
      let list = try RemoteOrigin(arguments).api.tokens()
      (document, lines) = (list.document, table(list.value.tokens))
    case "revoke":
      let name = try arguments.operands("revoke", "NAME")[1]
      let revoked = try RemoteOrigin(arguments).api.revokeToken(name)
      (document, lines) = (revoked.document, ["revoked \(revoked.value.name)"])
    default: throw UsageError("expected token create --name NAME, token list or token revoke NAME")
    }
    if arguments.has("json") {
      terminal.say(json: document)
    } else {
      terminal.say(list: lines, head: 1, all: arguments.has("all"))
    }
    return .done
  }

  /// Returns the failure if a new token couldn't be printed. It is revoked, since it can't be shown again.
  private static func lost(_ id: String, _ error: SystemError, _ arguments: Arguments) -> Failure {
    let words = "the token could not be printed (\(error.reason))"
    do {
      if let data = try arguments.value("data") {
        _ = try MaintenanceOutput.ownStore(data, arguments, "xcache token revoke").revokeToken(id)
      } else {
        _ = try RemoteOrigin(arguments, namesApp: false, namesChannel: false).api.revokeToken(id)
      }
      return Failure("\(words), so it was revoked; run this again")
    } catch {
      return Failure(
        "\(words), and revoking it failed: \(Fault(error).message); revoke it: `xcache token revoke \(id)`")
    }
  }

  /// Returns the name of a new token, from an option or an operand.
  private static func name(_ arguments: Arguments) throws -> String {
    guard let name = try arguments.value("name") else {
      return try arguments.operands("create", "--name NAME")[1]
    }
    _ = try arguments.operands("create")
    return name
  }

  /// Returns the seconds of `90d`, `12h`, `2w` or `30m`.
  private static func life(_ arguments: Arguments) throws -> Int64? {
    guard let text = try arguments.value("expires") else { return nil }
    guard let seconds = Arguments.seconds(of: text, in: "mhdw", 1...5_300_000) else {
      throw UsageError("--expires \(text) is not a duration such as 90d, 12h, 2w or 30m")
    }
    return seconds
  }

  /// Creates a token; returns the answer including the token, and the token.
  private static func create(_ arguments: Arguments, _ name: String) throws -> (JSONValue, String) {
    let text = try arguments.value("scope") ?? "publish"
    guard let scope = TokenScope(rawValue: text) else {
      throw UsageError("--scope \(text): expected read, publish or admin")
    }
    // Only the command line limits a token: the app in xcache.json only says where the command is run.
    let app = try arguments.all("app").first.map { try SettingsValue.app($0, in: "--app") }
    let channel = try arguments.all("channel").first.map { try SettingsValue.channel($0, in: "--channel") }
    let glob = try arguments.value("bundle")
    let bundles = glob.flatMap { BundleGlob($0) }
    if let glob, bundles == nil {
      throw UsageError("--bundle \(glob): a bundle's name, with * and ? as wildcards")
    }
    let hosts = try arguments.value("hosts").flatMap { try HostOutput.list($0) }
    if hosts != nil, scope == .admin { throw UsageError("--hosts: admin tokens can't be limited to hosts") }
    let life = try life(arguments)
    try Arguments.check(name, .line(bytes: 128), in: "--name")
    if let data = try arguments.value("data") {
      let made = try MaintenanceOutput.ownStore(data, arguments, "xcache token create").createToken(
        name: name, scope: scope, app: app, channel: channel, bundles: bundles,
        hosts: hosts, expiresAt: life.map { Clock.unixMilliseconds() + $0 * 1000 })
      return (JSONValue(encoding: TokenAnswer(id: made.token.id, token: made.text)), made.text)
    }
    var request = TokenRequest(name: name, scope: scope.rawValue)
    (request.app, request.channel) = (app?.text, channel?.text)
    (request.bundles, request.hosts, request.expiresIn) = (bundles?.text, hosts?.names, life)
    // The secret is made here and stored nowhere else, so a lost answer doesn't lose it.
    let secret = TokenSecret()
    request.secretHash = secret.hash.hex
    let made = try RemoteOrigin(arguments).api.createToken(request)
    // Older origins make the secret themselves.
    let token = made.value.token ?? secret.text(id: made.value.id)
    var document = made.document.object ?? JSONObject()
    document["token"] = .string(token)
    return (.object(document), token)
  }

  /// Warns about a token for an unknown app: legitimate before its first publish, but usually a spelling mistake.
  private static func warnOfUnknownApp(_ arguments: Arguments, _ terminal: Terminal) {
    guard let app = arguments.all("app").first, let known = try? apps(arguments), !known.contains(app) else {
      return
    }
    terminal.remark(
      "warning: there is no app \(app) yet\(Spelling.suggestion(for: app, among: known.sorted())); it becomes useful once "
        + "an admin has published there")
  }

  private static func apps(_ arguments: Arguments) throws -> Set<String> {
    if let data = try arguments.value("data") {
      return Set(try MaintenanceOutput.ownStore(data, arguments, "").channels().map(\.app.text))
    }
    return Set(
      try RemoteOrigin(arguments, namesApp: false).api.channels().value.channels.map(\.app.text))
  }

  static func table(_ tokens: [TokenInfo]) -> [String] {
    var table = Table([
      "NAME", "SCOPE", "APP", "CHANNEL", "BUNDLES", "HOSTS", "CREATED", "LAST USED", "EXPIRES", "ID",
    ])
    for token in tokens {
      table.add([
        token.name + (token.revokedAt == nil ? "" : " (revoked)"), token.scope, token.app?.text ?? "all",
        token.channel?.text ?? "all", token.bundles ?? "all", HostOutput.cell(token.hosts),
        token.createdAt.formatted, token.lastUsedAt.formatted,
        token.expiresAt.formatted, token.id,
      ])
    }
    return table.lines
  }
}
