import System

/// What the engine's program, and what it starts, wrote to standard error, for whoever reads why it failed.
struct EngineWords: Sendable {
  private var lines: [String] = []

  /// Lines that are remembered, and of these the ones that are shown.
  private static let kept = 40
  private static let shown = 5

  init(_ lines: [String] = []) {
    for line in lines { add(line) }
  }

  mutating func add(_ line: String) {
    if lines.count >= Self.kept { lines.removeFirst() }
    lines.append(line)
  }

  /// The words of Xvfb by which a fault is known, and what they mean.
  private static let faults: [(marks: [String], meaning: String)] = [
    (
      ["Failed to activate virtual core keyboard", "Failed to compile keymap"],
      "it can't compile its keyboard map; install the tools for that: apt-get install x11-xkb-utils xkb-data"
    ),
    (
      ["Couldn't add screen"],
      "it has too little memory for its screen; give this machine or container more, or use a smaller --size"
    ),
    // Of a folder that it may not write to it complains for each number that a display may have, for longer than it is waited for.
    (
      ["socket to listen on", "listening sockets", "/tmp/.X11-unix"],
      "it can't create its socket; make /tmp writable, and if there is a folder /tmp/.X11-unix, give it mode 1777"
    ),
  ]

  /// Why the display didn't start, and what to do; nil: Xvfb said nothing that is known.
  private var displayFault: String? {
    let fault = Self.faults.first { fault in
      lines.contains { line in fault.marks.contains { line.contains($0) } }
    }
    return fault.map { "Xvfb, the display that pages are painted on, didn't start: \($0.meaning)" }
  }

  /// What the program says when it can't start, and why that is, where its display knows better.
  func explaining(_ refusal: String) -> String {
    if refusal.hasPrefix("Xvfb doesn't start"), let displayFault { return displayFault }
    return refusal + text
  }

  /// What Xvfb complains of and goes on, and what stands around its own words.
  private static let noise = [
    "_XSERVTrans", "The XKEYBOARD keymap compiler (xkbcomp)", "> Warning:", "> Internal error:",
    "Errors from xkbcomp are not fatal", "Fatal server error:",
  ]
  private static let error = "(EE)"

  /// The last lines that are worth reading: `; it said: …`, or nothing.
  var text: String {
    let worth = lines.map(Self.plain).filter { line in
      !line.isEmpty && !Self.noise.contains { line.hasPrefix($0) }
    }
    return worth.isEmpty ? "" : "; it said: \(worth.suffix(Self.shown).joined(separator: " ⏎ "))"
  }

  /// Without the marks that Xvfb puts around an error.
  private static func plain(_ line: String) -> String {
    guard line.hasPrefix(error) else { return line.trimmed }
    let line = line.dropFirst(error.count).trimmed
    return line.hasSuffix(error) ? line.dropLast(error.count).trimmed : line
  }
}

extension StringProtocol {
  /// Without spaces at its ends.
  fileprivate var trimmed: String {
    let end = lastIndex { !$0.isWhitespace }.map(index(after:)) ?? startIndex
    return String(self[..<end].drop(while: \.isWhitespace))
  }
}
