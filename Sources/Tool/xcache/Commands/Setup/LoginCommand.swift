import HTTPClient
import Linux
import OriginAPI
import OriginClient
import System
import Values

/// `xcache login`: saves a server's token, so that it needn't be in command lines or scripts.
enum LoginCommand {
  static let command = Command(
    name: "login", operands: "[URL]", summary: "sign in to a server, or save a token for it",
    examples: [
      .init("https://origin.example.com --sso", "sign in with a browser, for 12 hours at most"),
      .init("https://origin.example.com", "asks for a token"),
      .init("http://127.0.0.1:8080 --token-file /srv/xcache/admin.token", "reads it from a file"),
    ],
    notes: """
      The token is asked for in a terminal, read from a pipe, or taken from --token-file, and checked with the server.
      It is saved in ~/.config/xcache/servers.json, which only you can read, and sent to this server only: never to
      one that a redirect or another project's xcache.json names. --token, XCACHE_TOKEN and --token-file take
      precedence over it. If no server is given, the only saved one is used. logout deletes the token here; to revoke
      it at the server, use 'xcache token revoke'.
      --sso, where the server has a sign-in provider: a browser opens the console's page with a code; whoever is signed in there
      compares it with the one that is printed here, and allows it. What one may do is what one's roles at the provider give.
      The session ends when that of the console does, 12 hours after one signed in at the latest: then run this again. logout
      ends it at the server, too, and so does the next login there. Where no browser can be opened ($BROWSER, else xdg-open), and with --device, the page may be
      opened on any machine. CI jobs need no login: see 'xcache identity'.
      """,
    options: Command.signedIn + [
      Command.certificates,
      .flag("sso", "sign in with a browser, at the provider that the server names"),
      .flag("device", "with --sso: the browser may be on another machine"),
    ], run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let server = try server(arguments)
    let profiles = try Profiles(arguments.environment)
    if arguments.has("device"), !arguments.has("sso") {
      throw UsageError("--device can only be used with --sso")
    }
    let certificates = try RemoteOrigin.certificates(arguments).map { try Kernel.realPath($0) }
    let http = arguments.http(authorities: certificates)
    var session: SignInTokenAnswer?
    if arguments.has("sso") {
      for other in ["token", "token-file"] where arguments.isGiven(other) {
        throw UsageError("give either --sso or --\(other), not both")
      }
      session = try SingleSignOn(
        server: server, http: http, environment: arguments.environment, terminal: terminal,
        isDevice: arguments.has("device")
      ).signIn()
    }
    let token =
      try session.map { GivenToken(text: $0.token, source: "the sign-in") }
      ?? token(arguments, for: server, terminal)
    guard Profiles.token(token.text) != nil else {
      throw OriginError.notAnOrigin(server: server.text, found: "a token that can't be one")
    }
    let client = OriginClient(server: server, token: token.text, tokenSource: token.source, http: http)
    let channels = try client.channels().value.channels.count
    let before = profiles[server].flatMap { $0.token == token.text ? nil : $0 }
    let replaced = session == nil && before != nil
    try Profiles.change(arguments.environment) {
      $0.put(
        .init(
          server: server, token: token.text, certificates: certificates, sessionEnd: session?.expiresAt))
    }
    // Nothing knows the session before any more, and nobody could end it here.
    if let before, before.sessionEnd != nil { _ = LogoutCommand.end(before, arguments) }
    if server.isExposed {
      terminal.remark("the token is sent to \(server) unencrypted; use https if possible")
    }
    if arguments.has("json") {
      var document = JSONObject()
      document["channels"] = .integer(channels)
      document["file"] = .string(profiles.path)
      document["server"] = .string(server.text)
      if let session {
        document["expiresAt"] = .string(Timestamp.text(session.expiresAt.milliseconds))
        document["name"] = .string(session.name)
        document["scope"] = .string(session.scope)
      }
      terminal.say(json: .object(document))
      return .done
    }
    let reads =
      channels == 0
      ? "there is no channel yet that this token may read"
      : "this token may read \(Count.text(channels, "channel"))"
    if let session {
      terminal.say(
        "signed in to \(server) as \(terminal.colour(session.name, .bold)) until \(session.expiresAt.formatted); `xcache whoami` says "
          + "what you may do")
    } else {
      terminal.say(
        "logged in to \(server): \(reads); the token is saved in \(profiles.path)"
          + (replaced ? ", in place of another one" : ""))
    }
    return .done
  }

  /// Returns the named server; also for `logout`.
  static func named(_ arguments: Arguments) throws -> BaseURL? {
    if arguments.operands.count > 1 {
      throw UsageError("unexpected argument: \(arguments.operands[1])")
    }
    let option = try arguments.value("server")
    if let operand = arguments.operands.first {
      if !arguments.all("server").isEmpty {
        throw UsageError("give either the server \(operand) or --server, not both")
      }
      return try SettingsValue.url(operand, in: "the server's address")
    }
    return try option.map { try SettingsValue.url($0, in: arguments.source("server")) }
  }

  private static func server(_ arguments: Arguments) throws -> BaseURL {
    if let server = try named(arguments) ?? Settings.file(from: ".").server { return server }
    throw UsageError("URL is missing: `xcache login URL`, such as https://origin.example.com")
  }

  private static func token(_ arguments: Arguments, for server: BaseURL, _ terminal: Terminal) throws
    -> GivenToken
  {
    if let token = try GivenToken(arguments) { return token }
    if StandardInput.isTerminal { terminal.ask("token for \(server): ") }
    let line = try StandardInput.line(echoes: false)
    if StandardInput.isTerminal { terminal.note("") }
    let text = (line ?? "").split(whereSeparator: \.isWhitespace).joined(separator: " ")
    guard !text.isEmpty else {
      throw UsageError(
        "no token given: type it in a terminal, pipe it in, or use --token-file FILE; --sso signs in with a browser"
      )
    }
    guard let token = Profiles.token(text) else {
      throw UsageError("not a token: it has spaces or characters that tokens don't have")
    }
    return GivenToken(text: token, source: "standard input")
  }
}

/// `xcache logout`: deletes a server's saved token.
enum LogoutCommand {
  static let command = Command(
    name: "logout", operands: "[URL]", summary: "delete a saved token, or sign out",
    examples: [
      .init(
        "https://origin.example.com",
        "delete this server's token; without URL, that of xcache.json or the only saved one")
    ],
    options: [Command.remote[0]], run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let profiles = try Profiles(arguments.environment)
    let known = profiles.profiles.map(\.server)
    guard
      let server = try LoginCommand.named(arguments) ?? Settings.file(from: ".").server
        ?? profiles.only?.server
    else {
      guard !known.isEmpty else {
        throw Failure("no server is saved; `xcache login URL` saves one", name: "unknown-server")
      }
      throw UsageError("several servers are saved; give one of \(known.map(\.text).alternatives)")
    }
    guard let profile = profiles[server] else {
      throw Failure(
        "\(server) isn't saved" + (known.isEmpty ? "" : "; there is \(known.map(\.text).alternatives)"),
        name: "unknown-server")
    }
    let isEnded = profile.sessionEnd == nil ? nil : end(profile, arguments)
    try Profiles.change(arguments.environment) { $0.remove(server) }
    if arguments.has("json") {
      var document = JSONObject()
      document["file"] = .string(profiles.path)
      document["server"] = .string(server.text)
      document["sessionEnded"] = isEnded.map { .bool($0) }
      terminal.say(json: .object(document))
    } else if let isEnded {
      terminal.say(
        isEnded
          ? "signed out of \(server)"
          : "deleted the session of \(server) here; it could not be ended there, and ends by itself at \(profile.sessionEnd.formatted)"
      )
    } else {
      terminal.say(
        "deleted the token of \(server) here; the server takes it until an admin revokes it: `xcache token revoke NAME --server \(server)`"
      )
    }
    return .done
  }
}

extension LogoutCommand {
  /// Ends a session at its server; returns whether it is over.
  fileprivate static func end(_ profile: Profiles.Profile, _ arguments: Arguments) -> Bool {
    guard let token = profile.token, let id = SafeText.tokenID(in: token) else { return false }
    let client = OriginClient(
      server: profile.server, token: token, http: arguments.http(authorities: profile.certificates)
    ) { RetryPolicy(attempts: 2, hasAnswered: $0) }
    do throws(OriginError) {
      try client.endSession(id)
      return true
    } catch {
      // It was over before.
      return error.problem?.code == "token"
    }
  }
}

extension BaseURL {
  /// Whether the host is a wildcard address, which can be listened on but not connected to.
  var isOfEveryAddress: Bool {
    guard let start = text.firstRange(of: "://")?.upperBound else { return false }
    let authority = text[start...].prefix { $0 != "/" }
    return ["0.0.0.0", "[::]"].contains { authority == $0 || authority.hasPrefix($0 + ":") }
  }

  /// Whether others may read the traffic: without TLS, and not on this machine.
  var isExposed: Bool {
    text.hasPrefix("http://") && !isLoopback
  }

  /// Whether the host is this machine: `localhost`, `[::1]`, or any of 127.0.0.0/8 (RFC 1122 §3.2.1.3).
  var isLoopback: Bool {
    guard let start = text.firstRange(of: "://")?.upperBound else { return false }
    let authority = text[start...].prefix { $0 != "/" }
    let host =
      authority.hasPrefix("[")
      ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
    return host == "localhost" || IPAddress(String(host))?.isLoopback ?? false
  }
}
