import Manifests
import OriginAPI
import Publishing
import Store
import System

/// `xcache token create | list | revoke`.
enum TokenCommand {
  static let command = Command(
    name: "token", operands: "create --name NAME | list | revoke NAME",
    summary: "manage who may read, publish and administer",
    notes: """
      A token's text is shown once. Scopes: read (status, log, diff), publish (and read), admin (and publish, tokens,
      new apps). Where the last admin token is lost, --data works on the data folder itself while no server runs.
      """,
    options: Command.remote + [
      .value("app", "NAME", "limit it to this app (create; default: every app)"),
      .value("channel", "NAME", "limit it to this channel of the app (create; default: every channel)"),
      .value("name", "NAME", "whose token it is (create)"),
      .value(
        "bundle", "GLOB", "limit it to bundles, with * and ? as wildcards (create; default: every bundle)"),
      .value("expires", "TIME", "end it after 90d, 12h or 2w, say (create; default: never)"),
      .value("scope", "SCOPE", "read, publish or admin (create; default: publish)"),
      .value("data", "DIR", "work on this data folder instead of a server"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let result: JSONValue
    switch arguments.operands.first {
    case "create": result = try create(arguments, try name(arguments))
    case "list":
      _ = try arguments.operands("list")
      result = try RemoteOrigin(arguments).api.get("tokens")
    case "revoke":
      let name = try arguments.operands("revoke", "NAME")[1]
      result = try RemoteOrigin(arguments).api.send(
        OriginCall("DELETE", "tokens/\(VersionWord.escaped(name))"))
    case let word?: throw UsageError("there is no \"token \(word)\"; it is create, list or revoke")
    case nil: throw UsageError("token create NAME, token list, or token revoke NAME?")
    }
    if arguments.has("json") {
      terminal.say(String(decoding: result.canonical, as: UTF8.self))
    } else {
      for line in lines(result) { terminal.say(line) }
    }
    return .done
  }

  /// The name of a new token, given as an option or an operand.
  private static func name(_ arguments: Arguments) throws -> String {
    guard let name = try arguments.value("name") else {
      return try arguments.operands("create", "--name NAME")[1]
    }
    _ = try arguments.operands("create")
    return name
  }

  /// Seconds of `90d`, `12h`, `2w` or `30m`.
  private static func life(_ arguments: Arguments) throws -> Int64? {
    guard let text = try arguments.value("expires") else { return nil }
    guard let seconds = Arguments.seconds(of: text, in: "mhdw", 1...5_300_000) else {
      throw UsageError("--expires \(text): write 90d, 12h, 2w or 30m")
    }
    return seconds
  }

  private static func create(_ arguments: Arguments, _ name: String) throws -> JSONValue {
    let text = try arguments.value("scope") ?? "publish"
    guard let scope = TokenScope(rawValue: text) else {
      throw UsageError("--scope \(text): it is one of read, publish and admin")
    }
    // Only what the command line says limits a token: the app that xcache.json names is where it is used from.
    let app = try arguments.all("app").first.map { try SettingsValue.app($0, in: "--app") }
    let channel = try arguments.all("channel").first.map { try SettingsValue.channel($0, in: "--channel") }
    let glob = try arguments.value("bundle")
    let bundles = glob.flatMap { BundleGlob($0) }
    if let glob, bundles == nil {
      throw UsageError("--bundle \(glob): a bundle's name, with * and ? as wildcards")
    }
    let life = try life(arguments)
    if let data = try arguments.value("data") {
      if let problem = HumanText.problem(of: name, .line(bytes: 128)) {
        throw UsageError("--name: \(problem)")
      }
      var options = Store.Options()
      options.creates = false
      let made = try Store(path: data, options: options).createToken(
        name: name, scope: scope, app: app, channel: channel, bundles: bundles,
        expiresAt: life.map { Clock.unixMilliseconds() + $0 * 1000 })
      return ["id": .string(made.token.id), "token": .string(made.text)]
    }
    var body = JSONObject()
    body["name"] = .string(name)
    body["scope"] = .string(scope.rawValue)
    if let app { body["app"] = .string(app.text) }
    if let channel { body["channel"] = .string(channel.text) }
    if let bundles { body["bundles"] = .string(bundles.text) }
    if let life { body["expiresIn"] = .integer(life) }
    // Made here, so that no answer which is lost takes it along, and kept nowhere else.
    let secret = TokenSecret()
    body["secretHash"] = .string(secret.hash.hex)
    var made =
      try RemoteOrigin(arguments).api.send("POST", "tokens", json: .object(body)).object ?? JSONObject()
    // An older origin makes the secret itself.
    if made["token"] == nil, let id = made["id"]?.string { made["token"] = .string(secret.text(id: id)) }
    return .object(made)
  }

  private static func lines(_ result: JSONValue) -> [String] {
    if let token = result["token"]?.string { return [token] }
    guard let tokens = result["tokens"]?.array else { return ["revoked \(result["name"]?.string ?? "")"] }
    var table = Table(["NAME", "SCOPE", "APP", "CHANNEL", "BUNDLES", "CREATED", "LAST USED", "EXPIRES", "ID"])
    for token in tokens {
      let revoked = token["revokedAt"]?.string == nil ? "" : " (revoked)"
      table.add([
        (token["name"]?.string ?? "?") + revoked, token["scope"]?.string ?? "?",
        token["app"]?.string ?? "all",
        token["channel"]?.string ?? "all", token["bundles"]?.string ?? "all", Moment.text(token["createdAt"]),
        Moment.text(token["lastUsedAt"]), Moment.text(token["expiresAt"]),
        token["id"]?.string ?? "?",
      ])
    }
    return table.lines
  }
}
