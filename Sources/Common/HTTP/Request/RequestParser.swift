/// Parses a request's head incrementally.
///
/// `parse` takes all bytes of the head so far and continues where it stopped, line by line; the result depends only on
/// the bytes, not on where they were split. It implements RFC 9112 §2 to §6 without the leniencies: lines end with CRLF,
/// nothing is folded, and no blank precedes a colon.
package struct RequestParser: Sendable {
  /// The result of parsing the bytes so far.
  package enum Outcome: Sendable, Equatable {
    /// More bytes are needed.
    case incomplete
    /// The head is `count` bytes long, and parsed as ``RequestParser/head``.
    case complete(count: Int)
    case failed(RequestError)
  }

  /// What was parsed so far.
  package internal(set) var head = RequestHead()
  /// The start of the line that isn't complete yet.
  private var lineStart = 0
  /// How far that line was searched for its end.
  private var searched = 0
  private var atRequestLine = true
  /// Whether a Connection field said `close`.
  var closes = false

  /// Creates a parser at the start of a head.
  package init() {}

  /// Resets the parser for the next head.
  package mutating func restart() {
    head.restart()
    lineStart = 0
    searched = 0
    atRequestLine = true
    closes = false
  }

  /// Whether all of the `count` bytes parsed so far are empty lines.
  package func hasOnlyEmptyLines(_ count: Int) -> Bool { atRequestLine && lineStart == count }

  /// Whether a head that is incomplete or was refused asks for an answer without a body.
  package func isHEAD(_ bytes: RawSpan) -> Bool {
    head.method == .head
      || atRequestLine
        && bytes.extracting(min(lineStart, bytes.byteCount)..<bytes.byteCount).starts(with: "HEAD ")
  }

  /// Parses more of the head at the start of `bytes`.
  package mutating func parse(_ bytes: RawSpan, limits: RequestLimits) -> Outcome {
    do throws(RequestError) {
      while let end = try endOfLine(bytes, limits) {
        let line = lineStart..<end
        lineStart = end &+ 2
        searched = lineStart
        if try take(line, of: bytes, limits) { return .complete(count: lineStart) }
      }
      return .incomplete
    } catch {
      return .failed(error)
    }
  }

  /// Normalises the path of a complete head, in the bytes it was parsed from.
  @_lifetime(bytes: copy bytes)
  package mutating func normalisePath(in bytes: inout MutableRawSpan) {
    head.path = PathNormaliser.normalise(&bytes, head.path)
    head.pathNeedsNormalising = false
  }

  /// Returns the index of the CR that ends the line, or nil if the end hasn't arrived.
  ///
  /// The only other control byte that a line may contain is tab, so the first one found is the line's end; with
  /// `takesControls`, a header line may contain others that end no line.
  @inline(__always)
  private mutating func endOfLine(_ bytes: RawSpan, _ limits: RequestLimits) throws(RequestError) -> Int? {
    let limit = lineLimit(limits)
    while let end = bytes.firstControl(from: searched), end &+ 1 < limit {
      searched = end
      let byte = bytes[end]
      if byte == 0x0D {
        guard end &+ 1 < bytes.byteCount else { return nil }
        guard bytes[end &+ 1] == 0x0A else { throw .lineEnd }
        return end
      }
      guard byte == 0x09 || (limits.takesControls && !atRequestLine && byte != 0x0A && byte != 0) else {
        throw byte == 0x0A ? .lineEnd : atRequestLine ? .requestLine : .field
      }
      searched &+= 1
    }
    guard bytes.byteCount >= limit else {
      searched = max(searched, bytes.byteCount)
      return nil
    }
    guard atRequestLine, limit < limits.headBytes else { throw .headTooLarge }
    // Without a blank, it isn't even a method.
    let blank = bytes.extracting(lineStart..<limit).firstIndex(of: 0x20)
    throw blank == nil ? .requestLine : .targetTooLong
  }

  /// Returns the offset by which the line must have ended.
  private func lineLimit(_ limits: RequestLimits) -> Int {
    // The longest line whose target is within its limit: method, blanks, version, CRLF.
    guard atRequestLine else { return limits.headBytes }
    return min(limits.headBytes, lineStart &+ limits.targetBytes &+ 64)
  }

  /// Parses a complete line, without its CRLF; returns true if it was the head's last.
  @inline(__always)
  private mutating func take(
    _ line: Range<Int>, of bytes: RawSpan, _ limits: RequestLimits
  ) throws(RequestError) -> Bool {
    if atRequestLine {
      // RFC 9112 §2.2: at least one empty line before the request line is ignored.
      if line.isEmpty { return false }
      try takeRequestLine(line, of: bytes, limits)
      atRequestLine = false
      head.lines.start = UInt16(truncatingIfNeeded: lineStart)
      return false
    }
    guard !line.isEmpty else {
      head.lines = ByteSlice(Int(head.lines.start)..<line.lowerBound)
      try finish(bytes)
      return true
    }
    head.fieldCount &+= 1
    guard Int(head.fieldCount) <= limits.fieldCount else { throw .headTooLarge }
    try takeField(line, of: bytes)
    return false
  }
}

/// The limits of a request's head.
package struct RequestLimits: Sendable, Equatable {
  /// Bytes of the whole head, at most 65,535; more is 431.
  package var headBytes: Int
  /// Bytes of the request target; more is 414.
  package var targetBytes: Int
  /// Header lines; more is 431.
  package var fieldCount: Int
  /// Whether a path may contain `%00`, or a percent sign that doesn't begin an escape. URLs on the web may (WHATWG URL standard
  /// §4.4: "validation error", not a failure), and a proxy forwards what a browser requests.
  package var takesAnyPercent: Bool
  /// Whether a header's value may have control bytes. Those of the web may (Fetch standard §2.2.2: "contains no 0x00 (NUL) or HTTP
  /// newline bytes"), and "recipients of … CTL characters … MAY retain such characters for the sake of robustness when they appear
  /// within a safe context" (RFC 9110 §5.5): a proxy forwards what a browser sends. Never CR, LF or NUL.
  package var takesControls: Bool

  /// Creates limits; values out of range are clamped.
  package init(
    headBytes: Int = 16_384, targetBytes: Int = 8_192, fieldCount: Int = 100, takesAnyPercent: Bool = false,
    takesControls: Bool = false
  ) {
    self.takesAnyPercent = takesAnyPercent
    self.takesControls = takesControls
    self.headBytes = min(max(headBytes, 64), 65_535)
    self.targetBytes = min(max(targetBytes, 1), self.headBytes)
    self.fieldCount = max(fieldCount, 1)
  }
}

/// Why a request's head or framing was refused; the connection is closed after the answer.
package enum RequestError: Error, Sendable, Equatable, CaseIterable {
  /// Thrown when the first line isn't `method SP target SP HTTP/digit.digit`.
  case requestLine
  /// Thrown when the target has none of the forms of RFC 9112 §3.2, or an invalid byte or escape.
  case target
  /// Thrown when the target is longer than the limit.
  case targetTooLong
  /// Thrown when the major version isn't 1.
  case version
  /// Thrown when a line ends without CR, or has a CR inside.
  case lineEnd
  /// Thrown when a header line isn't `token ":" value`, is folded, or has control bytes.
  case field
  /// Thrown when the head has too many bytes or too many lines.
  case headTooLarge
  /// Thrown when Host is missing, repeated or malformed.
  case host
  /// Thrown when the body's length is ambiguous or malformed.
  case framing
  /// Thrown when a transfer coding other than `chunked` is named.
  case transferCoding
  /// Thrown when Expect asks for something other than `100-continue`.
  case expectation
  /// Thrown when a field that may occur once occurs twice.
  case repeatedField

  /// The answer's status.
  package var status: Status {
    switch self {
    case .targetTooLong: .uriTooLong
    case .version: .versionNotSupported
    case .headTooLarge: .fieldsTooLarge
    case .transferCoding: .notImplemented
    case .expectation: .expectationFailed
    default: .badRequest
    }
  }
}
