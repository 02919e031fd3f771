import Manifests
import OriginAPI
import Publishing

/// `xcache pin`: versions that gc leaves alone.
enum PinCommand {
  static let command = Command(
    name: "pin", operands: "V \"why\" | list | remove V",
    summary: "keep a version, whatever gc would do",
    notes: """
      A pinned version stays, with every file that it names, until the pin is removed. V is a number, or a time at which
      the version was live; --at TIME stands for it, too.
      """,
    options: Command.remote + Command.channel + [VersionWord.option], run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let remote = try RemoteOrigin(arguments)
    let pins = "\(try remote.path)/pins"
    let result: JSONValue
    let line: String
    switch arguments.operands.first {
    case "list":
      _ = try arguments.operands("list")
      result = try remote.api.get(pins)
      line = table(result).joined(separator: "\n")
    case "remove":
      let version = try version(arguments, after: ["remove"], before: [])[0]
      result = try remote.api.send(OriginCall("DELETE", "\(pins)/\(VersionWord.escaped(version))"))
      line = "version \(result["version"]?.string ?? version) is not pinned any more"
    case nil: throw UsageError("pin V \"why\", pin list, or pin remove V?")
    default:
      let words = try version(arguments, after: [], before: ["\"why\""])
      result = try remote.api.send(
        "POST", pins, json: ["reason": .string(words[1]), "version": .string(words[0])])
      line = "pinned version \(result["version"]?.string ?? words[0])"
    }
    terminal.say(arguments.has("json") ? String(decoding: result.canonical, as: UTF8.self) : line)
    return .done
  }

  /// The version, an operand or the value of `--at`, and the operands after it.
  private static func version(_ arguments: Arguments, after first: [String], before rest: [String])
    throws(UsageError) -> [String]
  {
    let words = Array(arguments.operands.dropFirst(first.count))
    let at = try VersionWord.at(arguments)
    let expected = (at == nil ? ["V, the version,"] : []) + rest
    if words.count < expected.count { throw UsageError("\(expected[words.count]) is missing") }
    if words.count > expected.count {
      throw UsageError("nothing is expected after that: \(words[expected.count])")
    }
    if let at { return [at] + words }
    return [try VersionWord.read(words[0], in: "")] + words.dropFirst()
  }

  private static func table(_ result: JSONValue) -> [String] {
    var table = Table(["VERSION", "SINCE", "BY", "WHY"], rightAligned: [0])
    for pin in result["pins"]?.array ?? [] {
      table.add([
        pin["version"]?.string ?? "?", Moment.text(pin["at"]), pin["author"]?.string ?? "?",
        pin["reason"]?.string ?? "",
      ])
    }
    return table.lines
  }
}
