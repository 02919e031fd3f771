/// Reads a request's head from bytes that may arrive in any pieces.
///
/// `parse` is called with all bytes of the head so far; it goes on where it stopped, line by line, and the
/// result depends on the bytes alone, not on where they were split. RFC 9112 §2 to §6, without its leniences:
/// lines end with CRLF, nothing is folded, no blank stands before a colon.
package struct RequestParser: Sendable {
  /// What the bytes so far come to.
  package enum Outcome: Sendable, Equatable {
    /// More bytes are needed.
    case incomplete
    /// The head is `count` bytes long and is in ``RequestParser/head``.
    case complete(count: Int)
    case failed(RequestError)
  }

  /// What was read so far.
  package internal(set) var head = RequestHead()
  /// Where the line that isn't complete yet begins.
  private var lineStart = 0
  /// Up to where that line was searched for its end.
  private var searched = 0
  private var atRequestLine = true
  /// A Connection field said `close`.
  var closes = false

  /// A parser at the beginning of a head.
  package init() {}

  /// Forgets the head at hand, for the next one.
  package mutating func restart() {
    head.restart()
    lineStart = 0
    searched = 0
    atRequestLine = true
    closes = false
  }

  /// Whether all of the `count` bytes that were parsed so far are empty lines.
  package func hasOnlyEmptyLines(_ count: Int) -> Bool { atRequestLine && lineStart == count }

  /// Whether a head that isn't complete, or was refused, asks for an answer without a body.
  package func isHEAD(_ bytes: RawSpan) -> Bool {
    head.method == .head
      || atRequestLine
        && bytes.extracting(min(lineStart, bytes.byteCount)..<bytes.byteCount).starts(with: "HEAD ")
  }

  /// Goes on with the head that `bytes` begins with.
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

  /// Brings the path of a complete head into its normal form, in the bytes it was parsed from.
  @_lifetime(bytes: copy bytes)
  package mutating func normalisePath(in bytes: inout MutableRawSpan) {
    head.path = PathNormaliser.normalise(&bytes, head.path)
    head.pathNeedsNormalising = false
  }

  /// Where the CR stands that ends the line; nil if the end hasn't arrived.
  ///
  /// No line may hold another control byte but tab, so that the first one found is the line's end; with
  /// `takesControls` a header line may hold those that end none.
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
    // Without a blank it is no method either.
    let blank = bytes.extracting(lineStart..<limit).firstIndex(of: 0x20)
    throw blank == nil ? .requestLine : .targetTooLong
  }

  /// Up to where the line has to be over.
  private func lineLimit(_ limits: RequestLimits) -> Int {
    // The longest line that can still hold a target within its limit: method, blanks, version, CRLF.
    guard atRequestLine else { return limits.headBytes }
    return min(limits.headBytes, lineStart &+ limits.targetBytes &+ 64)
  }

  /// Takes one whole line, without its CRLF; true when it was the head's last.
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

/// How much of a head is read before it is refused.
package struct RequestLimits: Sendable, Equatable {
  /// Bytes of the whole head, at most 65,535; more is 431.
  package var headBytes: Int
  /// Bytes of the request target; more is 414.
  package var targetBytes: Int
  /// Header lines; more is 431.
  package var fieldCount: Int
  /// Whether a path may have a percent sign that isn't of an escape, or `%00`. Addresses of the web may (WHATWG URL standard §4.4:
  /// "validation error", no failure), and a proxy sends on what a browser asks for.
  package var takesAnyPercent: Bool
  /// Whether a header's value may have control bytes. Those of the web may (Fetch standard §2.2.2: "contains no 0x00 (NUL) or HTTP
  /// newline bytes"), and "recipients of … CTL characters … MAY retain such characters for the sake of robustness when they appear
  /// within a safe context" (RFC 9110 §5.5): a proxy sends on what a browser asks for. Neither CR, LF nor NUL ever.
  package var takesControls: Bool

  /// Limits that a head can be held to: what is out of range is brought into it.
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

/// Why a request's head or framing is refused; the connection is closed after the answer.
package enum RequestError: Error, Sendable, Equatable, CaseIterable {
  /// Thrown when the first line isn't `method SP target SP HTTP/digit.digit`.
  case requestLine
  /// Thrown when the target has none of the forms of RFC 9112 §3.2, or a bad byte or escape.
  case target
  /// Thrown when the target is longer than the limit.
  case targetTooLong
  /// Thrown when the major version isn't 1.
  case version
  /// Thrown when a line ends without CR, or a CR stands inside one.
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
  /// Thrown when a field that may stand once stands twice.
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
