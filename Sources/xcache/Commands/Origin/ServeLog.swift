import Manifests
import Platform
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
    let isJSON = try isJSON(arguments)
    let stream = BoundedStream(terminal)
    return { stream.note(isJSON ? document($0, at: now) : "\(now) \($0)") }
  }

  static func isJSON(_ arguments: Arguments) throws(UsageError) -> Bool {
    switch try arguments.value("log-format") {
    case nil, "text"?: false
    case "json"?: true
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

/// Standard error as a server uses it: whoever stops reading it holds up neither requests nor the end. Lines that it doesn't
/// take are dropped, and how many is said once it takes some again.
private final class BoundedStream: Sendable {
  private struct State {
    var isStuck = false
    var dropped = 0
  }

  /// Milliseconds that a line waits for a reader who took the one before.
  private static let patience = 1000
  /// What a pipe takes as one piece where it takes anything (pipe(7), PIPE_BUF).
  private static let longest = 4000

  private let terminal: Terminal
  private let state = Locked(State())

  init(_ terminal: Terminal) { self.terminal = terminal }

  func note(_ line: String) {
    state.withLock { state in
      let patience = state.isStuck ? 0 : Self.patience
      state.isStuck = !Kernel.wait(StandardStream.error.rawValue, for: .writing, milliseconds: patience)
      if state.isStuck {
        state.dropped += 1
        return
      }
      if state.dropped > 0 {
        terminal.note("(\(Count.text(state.dropped, "line")) dropped: nobody read standard error)")
        state.dropped = 0
      }
      terminal.note(line.utf8.count > Self.longest ? line.prefix(Self.longest / 4) + "…" : line)
    }
  }
}

/// A failure that the server's own log has told.
struct Reported: Error {
  let error: any Error
}
