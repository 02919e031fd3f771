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
    let token = answer.value
    terminal.say(
      "\(terminal.colour(token.name, .bold)) at \(api.server) \(TokenGrant.words(of: token))")
    terminal.say("token \(token.id), from \(source)")
    return .done
  }
}
