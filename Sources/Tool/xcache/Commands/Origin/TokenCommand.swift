import Manifests
import OriginAPI
import Store
import System
import Values

/// `xcache token create | list | revoke`.
enum TokenCommand {
  static let command = Command(
    name: "token", operands: "create --name NAME | list | revoke NAME",
    summary: "manage access tokens and sessions",
    examples: [
      .init("create ci-shop --scope publish --app shop --bundle main --expires 90d", "for a CI job"),
      .init("list", "all tokens, and when they were last used"),
      .init("list --sessions", "who is signed in, and which CI jobs ask now"),
      .init("revoke ci-shop", "takes effect at once"),
    ],
    notes: """
      A token may do only what its options say, so scope, app and end are required: a terminal asks for those that are
      missing. --all-apps and --no-expiry say that there is to be no limit. The token itself is printed only once; what
      it may do is printed beside it, and later by 'xcache whoami'. Scopes:
      read     status, log, show, diff, mirror
      release  also rollback, the steps of a rollout, policy (kill and resume, but not scripts), prefetch rollback, schedule
               cancel, approve and reject: everything about what was published, and nothing new
      publish  also publish, unpublish, promote, schedule, pin and prefetch; with --bundle only releases of these bundles:
               the right one for a CI job ('xcache identity' does without a token there)
      admin    also tokens, new apps and channels, freeze, hosts, policy scripts, gc, audit
      revoke takes the name or the id of a token, the id of a session or of a job's token, or a person's name: then all
      their sessions end. What a revoked token or session has scheduled isn't carried out.
      If the last admin token is lost, stop the server and create a new one with --data.
      """,
    options: Command.remote + [
      .value("app", "NAME", "only for this app (create)").only("create"),
      .flag("all-apps", "for every app, also those made later (create)").only("create"),
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
      .value("expires", "TIME", "the token's lifetime, such as 90d, 12h or 2w (create)").only("create"),
      .flag("no-expiry", "it never ends (create)").only("create"),
      .value(
        "scope", "SCOPE", choices: TokenGrant.scopes, "read, release, publish or admin (create)"
      ).only("create"),
      .value("data", "DIR", "use this data folder instead of a server").only("create"),
      .flag("sessions", "people who are signed in, and what CI jobs got, instead of tokens (list)").only(
        "list"),
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
      let name = try name(arguments)
      try Arguments.check(name, .line(bytes: 128), in: "--name")
      let grant = try TokenGrant(arguments, terminal)
      (document, text) = try create(arguments, name, grant)
      warnOfUnknownNames(grant, arguments, terminal)
      terminal.remark("\(name) \(grant.words)")
      if arguments.has("json") { terminal.say(json: document) } else { terminal.say(text) }
      guard let error = Terminal.unwrittenResult else { return .done }
      throw lost(document["id"]?.string ?? "", error, arguments)
    case "list":
      _ = try arguments.operands("list")
      let list = try RemoteOrigin(arguments).api.tokens()
      let isOfSessions = arguments.has("sessions")
      document = isOfSessions ? SessionOutput.only(list.document) : list.document
      let sessions = list.value.tokens.filter(\.isSignedIn)
      lines =
        isOfSessions
        ? SessionOutput.table(sessions) : table(list.value.tokens.filter { !$0.isSignedIn })
      if !isOfSessions, !sessions.isEmpty {
        terminal.remark(SessionOutput.summary(sessions) + "; `xcache token list --sessions` lists them")
      }
    case "revoke":
      let name = try arguments.operands("revoke", "NAME")[1]
      let revoked = try RemoteOrigin(arguments).api.revokeToken(name)
      (document, lines) = (revoked.document, ["revoked \(revoked.value.name)"])
      terminal.remark(SessionOutput.revoked(revoked.value, by: name))
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

  /// Creates a token; returns the answer including the token, and the token.
  private static func create(_ arguments: Arguments, _ name: String, _ grant: TokenGrant) throws -> (
    JSONValue, String
  ) {
    if let data = try arguments.value("data") {
      let made = try MaintenanceOutput.ownStore(data, arguments, "xcache token create").createToken(
        name: name, scope: grant.scope, app: grant.app, channel: grant.channel, bundles: grant.bundles,
        hosts: grant.hosts, expiresAt: grant.life.map { Clock.unixMilliseconds() + $0 * 1000 })
      return (JSONValue(encoding: TokenAnswer(id: made.token.id, token: made.text)), made.text)
    }
    var request = TokenRequest(name: name, scope: grant.scope.rawValue)
    (request.app, request.channel) = (grant.app?.text, grant.channel?.text)
    (request.bundles, request.hosts, request.expiresIn) = (
      grant.bundles?.text, grant.hosts?.names, grant.life
    )
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

  /// Warns about a token for an unknown app or channel: legitimate before its first publish, but usually a spelling mistake.
  private static func warnOfUnknownNames(_ grant: TokenGrant, _ arguments: Arguments, _ terminal: Terminal) {
    guard let app = grant.app, let all = try? channels(arguments) else { return }
    let known = all.filter { $0.app == app }.map(\.channel.text).sorted()
    var (what, suggestion) = ("", "")
    if known.isEmpty {
      what = "no app \(app)"
      suggestion = Spelling.suggestion(for: app.text, among: Set(all.map(\.app.text)).sorted())
    } else if let channel = grant.channel, !known.contains(channel.text) {
      what = "no channel \(channel) of app \(app)"
      suggestion = Spelling.suggestion(for: channel.text, among: known)
    } else if let bundles = grant.bundles,
      let there = try? Self.bundles(
        of: all.filter { $0.app == app && $0.channel == grant.channel ?? $0.channel }, arguments),
      !there.contains(where: bundles.matches)
    {
      what = "no bundle \(bundles.text) of app \(app)"
      suggestion = Spelling.suggestion(for: bundles.text, among: Set(there.map(\.text)).sorted())
    } else {
      return
    }
    terminal.remark(
      "warning: there is \(what) yet\(suggestion.isEmpty ? "." : suggestion) "
        + "The token becomes useful once an admin has published there")
  }

  private static func channels(_ arguments: Arguments) throws -> [ChannelAddress] {
    if let data = try arguments.value("data") {
      return try MaintenanceOutput.ownStore(data, arguments, "").channels().map {
        ChannelAddress($0.app, $0.name)
      }
    }
    return try RemoteOrigin(arguments, namesApp: false).api.channels().value.channels.map {
      ChannelAddress($0.app, $0.channel)
    }
  }

  /// How many channels are asked for their bundles, a request each, for a warning.
  private static let maxChannels = 20

  /// The bundles of channels, as far as a server can be asked.
  private static func bundles(of channels: [ChannelAddress], _ arguments: Arguments) throws -> [BundleName] {
    guard try arguments.value("data") == nil, channels.count <= maxChannels else {
      throw UsageError("the bundles aren't asked for")
    }
    let api = try RemoteOrigin(arguments, namesApp: false).api
    return try channels.flatMap { try api.overview(of: $0).value.bundles.map(\.name) }
  }

  static func table(_ tokens: [TokenInfo]) -> [String] {
    var table = Table([
      "NAME", "SCOPE", "APP", "CHANNEL", "BUNDLES", "HOSTS", "CREATED", "LAST USED", "EXPIRES", "ID",
    ])
    let now = Clock.unixMilliseconds()
    for token in tokens {
      let isOver = token.expiresAt.map { $0.milliseconds <= now } ?? false
      table.add([
        token.name + (token.revokedAt != nil ? " (revoked)" : isOver ? " (expired)" : ""), token.scope,
        token.app?.text ?? "all",
        token.channel?.text ?? "all", token.bundles ?? "all", HostOutput.cell(token.hosts),
        token.createdAt.formatted, token.lastUsedAt.formatted,
        token.expiresAt.formatted, token.id,
      ])
    }
    return table.lines
  }
}
