import Manifests
import OriginAPI

/// What the commands that change a prefetch config or a policy have in common.
enum DocumentChange {
  /// The members that every change has.
  static func body(_ arguments: Arguments) throws -> JSONObject {
    var body = JSONObject()
    body["message"] = .string(try arguments.value("message") ?? "")
    body["ifVersion"] = try PublishCommand.ifVersion(arguments).map { .string($0) }
    return body
  }

  /// Tells the version that came of it, and whose it replaces.
  ///
  /// - Parameter replaces: whether the change puts a whole document in the place of another.
  static func tell(
    _ answer: JSONValue, _ what: String, replaces: Bool, _ arguments: Arguments, _ terminal: Terminal
  ) {
    if arguments.has("json") {
      terminal.say(String(decoding: answer.canonical, as: UTF8.self))
      return
    }
    let version = answer["version"]?.string ?? "?"
    guard answer["changed"]?.bool == true else {
      terminal.say("nothing changed: version \(version) is that already")
      return
    }
    terminal.say("\(what), \(terminal.colour("version \(version)", .bold))")
    if replaces, let replaced = answer["replaced"], replaced.object != nil {
      terminal.say("replaces \(DocumentLog.line(replaced))")
    }
  }
}

/// The versions of a prefetch config or a policy, as people read them.
enum DocumentLog {
  static func run(_ document: String, _ arguments: Arguments, _ terminal: Terminal) throws {
    let remote = try RemoteOrigin(arguments)
    let limit = try arguments.number("limit", in: 1...1000) ?? 20
    let log = try remote.api.get("\(try remote.path)/\(document)/log?limit=\(limit)")
    if arguments.has("json") {
      terminal.say(String(decoding: log.canonical, as: UTF8.self))
      return
    }
    let versions = log["versions"]?.array ?? []
    guard !versions.isEmpty else {
      terminal.say("there is no \(document) document yet")
      return
    }
    var table = Table(["VERSION", "WHEN", "KIND", "WHO", "MANIFEST", "MESSAGE"], rightAligned: [0, 4])
    for version in versions { table.add(row(version)) }
    for line in table.lines { terminal.say(line) }
  }

  private static func row(_ version: JSONValue) -> [String] {
    [
      version["version"]?.string ?? "?", Moment.text(version["at"]), kind(version),
      version["author"]?.string ?? "?", version["manifestVersion"]?.string ?? "?", firstLine(version),
    ]
  }

  private static func kind(_ version: JSONValue) -> String {
    let kind = version["kind"]?.string ?? "?"
    return version["source"]?.string.map { "\(kind) to \($0)" } ?? kind
  }

  private static func firstLine(_ version: JSONValue) -> String {
    version["message"]?.string?.split(separator: "\n").first.map(String.init) ?? ""
  }

  /// `version 4 (push by ci, 2026-11-20 15:17:27 UTC: message)`
  static func line(_ version: JSONValue) -> String {
    let number = version["version"]?.string ?? "?"
    guard let author = version["author"]?.string else { return "version \(number)" }
    let message = firstLine(version)
    return "version \(number) (\(kind(version)) by \(author), \(Moment.text(version["at"]))"
      + (message.isEmpty ? ")" : ": \(message))")
  }
}
