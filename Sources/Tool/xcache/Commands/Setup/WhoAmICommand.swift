import OriginAPI
import Values

/// `xcache whoami`: what the token in use may do, and where it comes from.
enum WhoAmICommand {
  static let command = Command(
    name: "whoami", operands: "", summary: "show the server and what your token may do",
    examples: [.init("", "what may I do here, and until when?")],
    options: Command.remote, run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    let remote = try RemoteOrigin(arguments, namesApp: false, namesChannel: false)
    let api = try remote.api
    let answer = try api.tokenInfo()
    let source = remote.tokenSource ?? ""
    if arguments.has("json") {
      var document = answer.document.object ?? JSONObject()
      document["server"] = .string(api.server.text)
      document["source"] = .string(source)
      terminal.say(json: .object(document))
      return .done
    }
    for line in lines(answer.value, api.server, source, terminal) { terminal.say(line) }
    return .done
  }

  /// Says who asks, what they may do, and where that comes from.
  static func lines(_ token: TokenInfo, _ server: BaseURL, _ source: String, _ terminal: Terminal)
    -> [String]
  {
    let name = terminal.colour(token.name, .bold)
    let grants = token.grants ?? []
    var lines =
      grants.count < 2
      ? ["\(name) at \(server) \(TokenGrant.words(of: token))"]
      : ["\(name) at \(server), \(TokenGrant.end(of: token)):"]
        + grants.map { "  \(TokenGrant.words(of: $0, hosts: token.hosts))" }
    switch token.kind {
    case "session":
      lines.append("signed in by \(token.issuer ?? "") as \(token.subject ?? "")")
      lines.append("session \(token.id) (\(token.detail ?? "")), from \(source)")
    case "job":
      lines.append("a CI job of \(token.issuer ?? ""): \(token.subject ?? "")")
      lines.append("token \(token.id)\(token.detail.map { ", run \($0)" } ?? ""), from \(source)")
    default: lines.append("token \(token.id), from \(source)")
    }
    return lines
  }
}
