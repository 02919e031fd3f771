import Manifests
import OriginAPI
import Platform
import System

/// `xcache login`: keeps a server's token, so that neither command lines nor scripts have it.
enum LoginCommand {
  static let command = Command(
    name: "login", operands: "[URL]", summary: "keep a server's token for the commands to come",
    examples: [
      .init("https://origin.example.com", "asks for the token"),
      .init("http://127.0.0.1:8080 --token-file /srv/xcache/admin.token", "takes it from a file"),
    ],
    notes: """
      The token is asked for at a terminal, read from a pipe, or taken from --token-file; the server is asked whether it
      takes it. It is kept in ~/.config/xcache/servers.json, which nobody else may read, and goes to this server alone:
      not to one that a redirect or another project's xcache.json names. --token, XCACHE_TOKEN and --token-file go before
      it. Where no server is named, the only one that is known is meant. logout forgets it; to end a token at the server,
      use `xcache token revoke`.
      """,
    options: Command.remote, run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let server = try server(arguments)
    let profiles = try Profiles(arguments.environment)
    let token = try token(arguments, for: server, terminal)
    let certificates = try RemoteOrigin.certificates(arguments).map { try Kernel.realPath($0) }
    let client = OriginClient(
      server: server, token: token.text, tokenSource: token.source,
      http: arguments.http(authorities: certificates))
    let channels = try client.channels().value.channels.count
    try Profiles.change(arguments.environment) {
      $0.put(.init(server: server, token: token.text, certificates: certificates))
    }
    if server.isExposed {
      terminal.remark("the token goes to \(server) in the clear: use https where you can")
    }
    if arguments.has("json") {
      terminal.say(json: [
        "channels": .integer(channels), "file": .string(profiles.path), "server": .string(server.text),
      ])
    } else {
      let reads =
        channels == 0
        ? "it has no channel yet that this token may read"
        : "this token may read \(Count.text(channels, "channel"))"
      terminal.say("logged in to \(server): \(reads); the token is kept in \(profiles.path)")
    }
    return .done
  }

  /// The server that is named; for `logout`, too.
  static func named(_ arguments: Arguments) throws -> BaseURL? {
    if arguments.operands.count > 1 {
      throw UsageError("unexpected argument: \(arguments.operands[1])")
    }
    let option = try arguments.value("server")
    if let operand = arguments.operands.first {
      if !arguments.all("server").isEmpty {
        throw UsageError("which server: \(operand), or that of --server?")
      }
      return try SettingsValue.url(operand, in: "the server's address")
    }
    return try option.map { try SettingsValue.url($0, in: arguments.source("server")) }
  }

  private static func server(_ arguments: Arguments) throws -> BaseURL {
    if let server = try named(arguments) ?? Settings.file(from: ".").server { return server }
    throw UsageError("which server? xcache login URL, such as https://origin.example.com")
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
      throw UsageError("which token? Type it at a terminal, pipe it in, or give --token-file FILE")
    }
    guard let token = Profiles.token(text) else {
      throw UsageError("that is no token: it holds spaces, or characters that no token has")
    }
    return GivenToken(text: token, source: "standard input")
  }
}

/// `xcache logout`: forgets a server's token.
enum LogoutCommand {
  static let command = Command(
    name: "logout", operands: "[URL]", summary: "forget a server's token",
    examples: [
      .init(
        "https://origin.example.com",
        "forget this one; without URL that of xcache.json, else the only one that is known")
    ],
    options: [Command.remote[0]], run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let profiles = try Profiles(arguments.environment)
    let known = profiles.profiles.map(\.server)
    guard
      let server = try LoginCommand.named(arguments) ?? Settings.file(from: ".").server
        ?? profiles.only?.server
    else {
      throw UsageError(
        known.isEmpty
          ? "no server is known; xcache login URL keeps one"
          : "which server? There is \(known.map(\.text).alternatives)")
    }
    guard profiles[server] != nil else {
      throw Failure(
        "\(server) isn't known" + (known.isEmpty ? "" : "; there is \(known.map(\.text).alternatives)"),
        name: "unknown-server")
    }
    try Profiles.change(arguments.environment) { $0.remove(server) }
    if arguments.has("json") {
      terminal.say(json: ["file": .string(profiles.path), "server": .string(server.text)])
    } else {
      terminal.say("forgot \(server); its token still holds there until `xcache token revoke`")
    }
    return .done
  }
}

extension BaseURL {
  /// Whether others may read what goes there: without TLS, and not on this machine.
  var isExposed: Bool {
    guard text.hasPrefix("http://") else { return false }
    let authority = text.dropFirst("http://".count).prefix { $0 != "/" }
    return !["127.0.0.1", "localhost", "[::1]"].contains { authority == $0 || authority.hasPrefix($0 + ":") }
  }
}
