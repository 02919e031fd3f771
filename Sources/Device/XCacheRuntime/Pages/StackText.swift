/// The frames of a stack that an engine wrote.
enum StackText {
  /// The most lines that are looked at.
  private static let longest = 100

  /// Returns the first frames as `FUNCTION@URL:LINE:COLUMN`, with an empty function where there is none. Lines that name no place in a
  /// script, such as native code and the message in front, are left out.
  /// - Parameters:
  ///   - stack: `at f (url:1:2)` and `at url:1:2` (V8), or `f@url:1:2`, `@url:1:2` and `url:1:2` (WebKit, Gecko), a frame a line.
  ///   - count: the most frames to return.
  static func frames(_ stack: String, atMost count: Int) -> [String] {
    let lines = stack.split(maxSplits: longest, omittingEmptySubsequences: true) { $0.isNewline }
    return Array(lines.prefix(longest).lazy.compactMap(frame).prefix(count))
  }

  private static func frame(_ line: Substring) -> String? {
    var line = line
    while line.first?.isWhitespace == true { line.removeFirst() }
    while line.last?.isWhitespace == true { line.removeLast() }
    if line.hasPrefix("at ") { return frameOfV8(line.dropFirst(3)) }
    // URLs and names of functions may have an `@` of their own.
    let ends = line.utf8.indices.filter { line.utf8[$0] == UInt8(ascii: "@") }
    guard let at = ends.first(where: { isURL(line[line.utf8.index(after: $0)...]) }), !isURL(line[..<at])
    else { return frame("", at: line) }
    return frame(line[..<at], at: line[line.utf8.index(after: at)...])
  }

  private static func frameOfV8(_ text: Substring) -> String? {
    guard text.last == ")", let open = text.lastIndex(of: "(") else {
      return frame("", at: text.hasPrefix("async ") ? text.dropFirst(6) : text)
    }
    var function = text[..<open]
    if function.hasPrefix("async ") { function = function.dropFirst(6) }
    if function.hasSuffix(" ") { function.removeLast() }
    return frame(function, at: text[text.index(after: open)...].dropLast())
  }

  /// Returns a frame, if `place` is a URL with line and column.
  private static func frame(_ function: Substring, at place: Substring) -> String? {
    var rest = place
    guard isURL(place), !place.contains(where: \.isWhitespace), dropNumber(&rest), dropNumber(&rest),
      isURL(rest)
    else { return nil }
    return "\(function)@\(place)"
  }

  /// Whether a text begins with a scheme (RFC 3986, section 3.1).
  private static func isURL(_ text: Substring) -> Bool {
    let scheme = text.utf8.prefix { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
        true
      default: false
      }
    }
    return !scheme.isEmpty && text.utf8[scheme.endIndex...].first == UInt8(ascii: ":")
  }

  /// Removes a colon and at most nine digits from the end.
  /// - Returns: whether they were there.
  private static func dropNumber(_ text: inout Substring) -> Bool {
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return false }
    let digits = text.utf8[text.utf8.index(after: colon)...]
    guard (1...9).contains(digits.count), digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
    else { return false }
    text = text[..<colon]
    return true
  }
}
