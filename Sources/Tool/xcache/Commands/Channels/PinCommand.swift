import Manifests
import OriginAPI
import Publishing
import Values

/// `xcache pin`: protects versions from gc.
enum PinCommand {
  static let command = Command(
    name: "pin", operands: "V \"why\" | list | remove V",
    summary: "protect versions from garbage collection",
    examples: [
      .init("553 'the audit of March' --app shop", "keep this version"),
      .init("list --app shop", "pinned versions and why"),
    ],
    notes: """
      A pinned version is kept, with all its files, until the pin is removed. V is a number, or a time at which the
      version was live; --at TIME can be used instead.
      """,
    options: Command.remote + Command.channel + [VersionArgument.option, Command.all.only("list")], run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    // Either a version, or a misspelt subcommand, which is reported first.
    if let word = arguments.operands.first, !["list", "remove"].contains(word),
      try arguments.value("at") == nil, (try? VersionArgument.read(word, in: "")) == nil
    {
      let suggestion = Spelling.suggestion(for: word, among: ["list", "remove"])
      throw UsageError(
        "\(word) is not a version"
          + (suggestion.isEmpty ? "; write pin V \"why\", pin list or pin remove V" : suggestion))
    }
    let remote = try RemoteOrigin(arguments)
    let channel = try remote.address
    let document: JSONValue
    let lines: [String]
    switch arguments.operands.first {
    case "list":
      _ = try arguments.operands("list")
      let list = try remote.api.pins(of: channel)
      (document, lines) = (list.document, table(list.value.pins))
    case "remove":
      let version = try version(arguments, after: ["remove"], before: [])[0]
      let answer = try remote.api.unpin(version, in: channel)
      (document, lines) = (answer.document, ["version \(answer.value.version) is no longer pinned"])
    case nil: throw UsageError("expected pin V \"why\", pin list or pin remove V")
    default:
      let words = try version(arguments, after: [], before: ["\"why\""])
      try Arguments.check(words[1], .line(bytes: 1024), in: "\"why\"")
      if words[1].isEmpty { throw UsageError("\"why\" is empty; say why the version is pinned") }
      let pin = try remote.api.pin(PinRequest(version: words[0], reason: words[1]), in: channel)
      (document, lines) = (pin.document, ["pinned version \(pin.value.version)"])
    }
    if arguments.has("json") {
      terminal.say(json: document)
    } else {
      terminal.say(list: lines, head: 1, all: arguments.has("all"))
    }
    return .done
  }

  /// Returns the version, from an operand or `--at`, and the operands after it.
  private static func version(_ arguments: Arguments, after first: [String], before rest: [String])
    throws(UsageError) -> [String]
  {
    let words = Array(arguments.operands.dropFirst(first.count))
    let at = try VersionArgument.at(arguments)
    let expected = (at == nil ? ["V, the version,"] : []) + rest
    if words.count < expected.count { throw UsageError("\(expected[words.count]) is missing") }
    if words.count > expected.count {
      throw UsageError("unexpected argument: \(words[expected.count])")
    }
    if let at { return [at] + words }
    return [try VersionArgument.read(words[0], in: "")] + words.dropFirst()
  }

  private static func table(_ pins: [Pin]) -> [String] {
    var table = Table(["VERSION", "SINCE", "BY", "WHY"], rightAligned: [0])
    if pins.isEmpty { return ["no version is pinned"] }
    for pin in pins { table.add([pin.version.text, pin.at.formatted, pin.author, pin.reason]) }
    return table.lines
  }
}
