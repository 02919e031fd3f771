import Linux
import System
import Values

/// The server's own log, of what it does and what goes wrong.
enum ServeLog {
  static let options: [Option] = [
    .value(
      "log-format", "FORMAT", choices: ["text", "json"],
      "the format of the server log on standard error: text or json (default: text)")
  ]

  /// Returns the function that writes its lines.
  static func make(_ arguments: Arguments, _ terminal: Terminal) throws -> @Sendable (String) -> Void {
    let isJSON = try isJSON(arguments)
    let stream = BoundedStream(terminal)
    return { stream.note(line($0, at: now, isJSON: isJSON)) }
  }

  static func isJSON(_ arguments: Arguments) throws(UsageError) -> Bool {
    switch try arguments.value("log-format") {
    case nil, "text"?: false
    case "json"?: true
    case let text?: throw UsageError("\(arguments.source("log-format")) \(text): expected text or json")
    }
  }

  /// The length in bytes that a writable pipe accepts in one piece (pipe(7), PIPE_BUF).
  static let longest = 4000

  /// Formats a line; a message that makes it longer than `longest` is cut, so that a JSON line stays a document.
  static func line(_ message: String, at time: String, isJSON: Bool) -> String {
    func formatted(_ message: String) -> String {
      isJSON ? document(message, at: time) : "\(time) \(message)"
    }
    var line = formatted(message)
    var kept = message.unicodeScalars.prefix(longest)
    // By scalars: a character can have any number of them.
    while line.utf8.count > longest {
      line = formatted("\(String(String.UnicodeScalarView(kept)))…")
      kept = kept.prefix(kept.count / 4 * 3)
    }
    return line
  }

  /// Formats a line as a JSON document: `{"level":"error","message":"…","time":"2026-01-31T12:00:00Z"}`.
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

  /// The current time, as in a line.
  private static var now: String { CivilTime(seconds: Clock.unixMilliseconds() / 1000).text }
}

/// Standard error of a server: a reader that stops reading delays neither requests nor the shutdown. Lines that can't be written
/// are dropped, and their number is logged once writing works again.
private final class BoundedStream: Sendable {
  private struct State {
    var isStuck = false
    var dropped = 0
  }

  /// How long a line waits for the reader, in milliseconds, if the previous line was written.
  private static let patience = 1000

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
      terminal.note(line)
    }
  }
}

/// An error that is already in the server's log.
struct Reported: Error {
  let error: any Error
}
