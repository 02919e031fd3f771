import System

/// What the engine's program and its child processes wrote to standard error, to explain a failure.
package struct EngineErrorLog: Sendable {
  private var lines: [String] = []

  /// How many lines are kept, and how many of these are shown.
  private static let kept = 40
  private static let shown = 5

  init(_ lines: [String] = []) {
    for line in lines { add(line) }
  }

  mutating func add(_ line: String) {
    if lines.count >= Self.kept { lines.removeFirst() }
    lines.append(line)
  }

  /// Messages of Xvfb that identify a failure, with their meaning.
  private static let faults: [(marks: [String], meaning: String)] = [
    (
      ["Failed to activate virtual core keyboard", "Failed to compile keymap"],
      "it can't compile its keyboard map; install the tools for that: apt-get install x11-xkb-utils xkb-data"
    ),
    (
      ["Couldn't add screen"],
      "it has too little memory for its screen; give this machine or container more, or use a smaller --size"
    ),
    // If it can't write to a folder, it complains about each display number, for longer than we wait for it.
    (
      ["socket to listen on", "listening sockets", "/tmp/.X11-unix"],
      "it can't create its socket; make /tmp writable, and if there is a folder /tmp/.X11-unix, give it mode 1777"
    ),
  ]

  /// Why the display didn't start, and what to do; nil if Xvfb printed nothing known.
  private var displayFault: String? {
    let fault = Self.faults.first { fault in
      lines.contains { line in fault.marks.contains { line.contains($0) } }
    }
    return fault.map { "Xvfb, the display that pages are painted on, didn't start: \($0.meaning)" }
  }

  /// Returns the program's reason why it can't start, or the display's if that explains it better.
  func explaining(_ refusal: String) -> String {
    if refusal.hasPrefix("Xvfb doesn't start"), let displayFault { return displayFault }
    return refusal + text
  }

  /// What Xvfb prints without consequence, and around its real messages.
  private static let noise = [
    "_XSERVTrans", "The XKEYBOARD keymap compiler (xkbcomp)", "> Warning:", "> Internal error:",
    "Errors from xkbcomp are not fatal", "Fatal server error:",
  ]
  private static let error = "(EE)"

  /// The last meaningful lines: `; it said: …`, or nothing.
  var text: String {
    let worth = lines.map(Self.plain).filter { line in
      !line.isEmpty && !Self.noise.contains { line.hasPrefix($0) }
    }
    return worth.isEmpty ? "" : "; it said: \(worth.suffix(Self.shown).joined(separator: " ⏎ "))"
  }

  /// Returns a line without Xvfb's error markers.
  private static func plain(_ line: String) -> String {
    guard line.hasPrefix(error) else { return line.trimmed }
    let line = line.dropFirst(error.count).trimmed
    return line.hasSuffix(error) ? line.dropLast(error.count).trimmed : line
  }
}

extension StringProtocol {
  /// The text without leading and trailing spaces.
  fileprivate var trimmed: String {
    let end = lastIndex { !$0.isWhitespace }.map(index(after:)) ?? startIndex
    return String(self[..<end].drop(while: \.isWhitespace))
  }
}
