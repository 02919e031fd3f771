import Manifests
import OriginAPI
import OriginClient
import Values

/// `xcache search WORDS`: finds releases, files, people and changes.
enum SearchCommand {
  static let command = Command(
    name: "search", operands: "WORDS", summary: "find releases, files, people and changes in all channels",
    examples: [
      .init("checkout", "whose message, author or URL has it"),
      .init("553", "releases of that version, and what has the number in it"),
      .init("'fix login' --limit 5", "five of each sort"),
    ],
    notes: """
      WORDS, two characters to 100 bytes, are found as they are, anywhere in a text; capital and small letters A to Z are the same.
      All channels that the token may read are searched, each sort with its newest first, 20 of each at most.
      """,
    options: Command.remote + [.value("limit", "N", "N of each sort, 1 to 20 (default: 10)"), Command.all],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    if arguments.operands.isEmpty { throw UsageError("WORDS is missing: what to search for") }
    let text = arguments.operands.joined(separator: " ")
    try Arguments.check(text, .line(bytes: 100), in: "WORDS")
    guard text.utf8.count >= 2 else {
      throw UsageError("\"\(text)\" is too short: write two characters at least")
    }
    let limit = try arguments.number("limit", in: 1...20) ?? 10
    let answer = try RemoteOrigin(arguments, namesApp: false, namesChannel: false).api.search(
      text, limit: limit)
    if arguments.has("json") {
      terminal.say(json: answer.document)
    } else {
      terminal.say(list: lines(answer.value), all: arguments.has("all"))
    }
    return .done
  }

  static func lines(_ found: SearchAnswer) -> [String] {
    var table = Table(["WHAT", "APP", "CHANNEL", "VERSION", "WHEN", "WHO", "TEXT"], rightAligned: [3])
    for one in found.releases {
      table.add([
        one.kind, one.app.text, one.channel.text, one.version.text, one.at.formatted, one.author,
        one.message.onOneLine,
      ])
    }
    for one in found.changes {
      table.add([
        one.kind, one.app.text, one.channel.text, one.version?.text ?? "", one.at.formatted, one.author,
        one.message.onOneLine,
      ])
    }
    for one in found.files {
      table.add(["file", one.app.text, one.channel.text, one.version.text, "", "", one.url])
    }
    for one in found.people {
      let count = one.releases == 1 ? "1 release" : "\(one.releases) releases"
      table.add(["person", "", "", "", one.lastAt.formatted, one.name, count])
    }
    let isEmpty =
      found.releases.isEmpty && found.changes.isEmpty && found.files.isEmpty && found.people.isEmpty
    if isEmpty { return [found.isCut ? "nothing was found in the time for it" : "nothing has that in it"] }
    return table.lines + (found.isCut ? ["there is more than this; search for something longer"] : [])
  }
}
