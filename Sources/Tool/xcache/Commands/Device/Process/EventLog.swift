import System
import Values
import XCacheDevice
import XCacheRuntime

/// The events of a local device: printed as they happen, and the last ones shown on the control page.
final class EventLog: Sendable {
  /// A logged event.
  struct Line: Sendable {
    /// The time as RFC 3339 in UTC.
    let time: String
    let message: String
    let json: JSONValue
  }

  private struct State {
    var lines: [Line] = []
    var lastPoll: Line?
  }

  /// How many lines are kept.
  private static let maxLines = 100
  private let terminal: Terminal
  private let progress: ProgressLine
  private let isJSON: Bool
  private let state = Locked(State())

  /// Creates a log; `isJSON` prints each line as a JSON object.
  init(_ terminal: Terminal, isJSON: Bool) {
    self.terminal = terminal
    progress = ProgressLine(terminal)
    self.isJSON = isJSON
  }

  /// The lines, newest last.
  var lines: [Line] { state.withLock { $0.lines } }

  /// The result of the last poll that was answered, and until its files are here what it found; nil before the first.
  var lastPoll: Line? { state.withLock { $0.lastPoll } }

  /// Prints the process's URLs.
  func begin(pages: String, control: String) {
    if isJSON {
      terminal.say(json: ["control": .string(control), "pages": .string(pages)])
    } else {
      terminal.say("pages: \(pages)\ncontrol: \(control)")
    }
  }

  /// Prints and stores an event.
  func note(_ event: RuntimeEvent) {
    if case .progress(let done) = event {
      progress.show("fetching", done.bytes, of: done.bytesTotal, files: done.files, of: done.filesTotal)
      return
    }
    guard let (words, json) = Self.describe(event) else { return }
    let line = Self.line(words, json)
    let found: Line? =
      if case .updateFound(let version) = event { Self.line(words, [("found", .string(version))]) } else {
        nil
      }
    state.withLock { state in
      state.lines.append(line)
      if state.lines.count > Self.maxLines { state.lines.removeFirst() }
      // Events may come later than the report.
      if let found, state.lastPoll?.json["to"] != found.json["found"] { state.lastPoll = found }
    }
    terminal.endProgress()
    if isJSON { terminal.say(json: line.json) } else { terminal.say("\(line.time) \(words)") }
  }

  /// Stores an update's result, except for one that wasn't due.
  func note(_ report: UpdateReport) {
    guard report.kind != .notDue else { return }
    let json: [(String, JSONValue)] = [
      ("from", .string(report.from)), ("kind", .string(report.kind.rawValue)),
      ("source", report.source.map { .string($0.rawValue) } ?? .null), ("to", .string(report.to)),
    ]
    let line = Self.line(PullCommand.lines(report, isPull: false).joined(separator: "; "), json)
    state.withLock { $0.lastPoll = line }
  }

  private static func line(_ words: String, _ members: [(String, JSONValue)]) -> Line {
    let time = Timestamp.text(Clock.unixMilliseconds())
    var json = JSONObject()
    for (key, value) in members { json[key] = value }
    json["time"] = .string(time)
    return Line(time: time, message: words, json: .object(json))
  }

  private static func describe(_ event: RuntimeEvent) -> (String, [(String, JSONValue)])? {
    switch event {
    case .progress: nil
    case .updateFound(let version):
      ("version \(version) is being installed", [("event", "updateFound"), ("version", .string(version))])
    case .switched(let from, let to):
      ("version \(from) → \(to)", [("event", "switched"), ("from", .string(from)), ("to", .string(to))])
    case .completed(let version):
      ("version \(version) is complete", [("event", "completed"), ("version", .string(version))])
    // Ending this process stopped it.
    case .failed(.closed): nil
    case .failed(let error): ("\(error)", [("event", "failed"), ("reason", .string("\(error)"))])
    case .policyChanged(let version):
      ("policy \(version)", [("event", "policyChanged"), ("version", .string(version))])
    case .pageFailed(let url, let version):
      (
        "\(url) failed to load twice in a row; it goes to the network while version \(version) is held",
        [("event", "pageFailed"), ("url", .string(url)), ("version", .string(version))]
      )
    case .returned(let from, let to, let cause, _):
      (
        "version \(from) doesn't work here; back to version \(to)",
        [
          ("event", "returned"), ("cause", .string(cause.rawValue)), ("from", .string(from)),
          ("to", .string(to)),
        ]
      )
    }
  }
}
