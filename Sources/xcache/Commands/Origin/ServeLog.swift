import Manifests
import System

/// The server's own log: a line for what it does and for what goes wrong.
enum ServeLog {
  static let options: [Option] = [
    .value(
      "log-format", "FORMAT", choices: ["text", "json"],
      "the format of the server log on standard error: text or json (default: text)")
  ]

  /// What writes its lines.
  static func make(_ arguments: Arguments, _ terminal: Terminal) throws -> @Sendable (String) -> Void {
    switch try arguments.value("log-format") {
    case nil, "text"?: { terminal.note("\(now) \($0)") }
    case "json"?: { terminal.note(document($0, at: now)) }
    case let text?: throw UsageError("\(arguments.source("log-format")) \(text): expected text or json")
    }
  }

  /// A line as one JSON document: `{"level":"error","message":"…","time":"2026-01-31T12:00:00Z"}`.
  static func document(_ line: String, at time: String) -> String {
    var (level, message) = ("info", line[...])
    for name in ["error", "warning"] where line.hasPrefix("\(name): ") {
      (level, message) = (name, line.dropFirst(name.count + 2))
    }
    let document: JSONValue = [
      "level": .string(level), "message": .string(String(message)), "time": .string(time),
    ]
    return String(decoding: document.canonical, as: UTF8.self)
  }

  /// The time as a line has it.
  private static var now: String { CivilTime(seconds: Clock.unixMilliseconds() / 1000).text }
}
