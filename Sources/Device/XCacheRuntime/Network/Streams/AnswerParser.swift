import HTTP
import System

/// An incremental parser of HTTP/1.1 responses (RFC 9112): head, body without framing, and end.
///
/// Skips 1xx responses. It does no I/O and keeps no bytes of a body.
struct AnswerParser {
  /// What was parsed next.
  enum Step: Equatable {
    case head(HTTPHead)
    case body([UInt8])
    /// All bytes are consumed; more are needed.
    case more
    /// The response is complete.
    case end
    /// It isn't HTTP, or breaks its rules.
    case malformed(String)
  }

  private enum State {
    case head
    case framed(BodyFraming)
    /// The body ends with the connection.
    case open
    case over
    case failed(String)
  }

  private let isHEAD: Bool
  private var state = State.head
  private var rest: [UInt8] = []
  private var used = 0
  /// Whether the connection has ended.
  private(set) var isOver = false
  /// Whether the connection broke off.
  private var isBroken = false
  /// Whether every line of the response's head could be parsed.
  private(set) var isTidy = true
  /// Whether the connection may carry another request once this response is complete.
  private(set) var keepsConnection = true

  /// The most bytes of a head, including those of 1xx responses before it.
  private static let headLimit = 256 << 10
  private var headBytes = 0
  /// For a head that isn't complete: its lines so far, the start of the next line, and how far the search for its end has
  /// come.
  private var lines: [String] = []
  private var lineStart = 0
  private var scanned = 0

  /// - Parameter isHEAD: whether the request was a HEAD; then there is no body, whatever the head says.
  init(isHEAD: Bool) { self.isHEAD = isHEAD }

  /// Whether there are bytes after the response that nobody asked for.
  var hasMore: Bool { used < rest.count }

  /// Adds received bytes.
  mutating func add(_ bytes: some Sequence<UInt8>) {
    if used == rest.count {
      rest.removeAll(keepingCapacity: true)
      (used, lineStart, scanned) = (0, 0, 0)
    }
    rest.append(contentsOf: bytes)
  }

  /// Ends the input, because the connection has ended.
  /// - Parameter isBroken: whether it broke off, so that a body delimited by the end of the connection isn't complete (RFC
  ///   9112 §8).
  mutating func close(isBroken: Bool = false) {
    isOver = true
    self.isBroken = isBroken
  }

  /// Parses the next step from the bytes added so far.
  mutating func next() -> Step {
    switch state {
    case .head: return nextHead()
    case .framed(let framing): return nextFramed(framing)
    case .open:
      guard used < rest.count else {
        if !isOver { return .more }
        if isBroken { return fail("the connection broke off before the answer ended") }
        state = .over
        return .end
      }
      defer { used = rest.count }
      return .body(Array(rest[used...]))
    case .over: return .end
    case .failed(let reason): return .malformed(reason)
    }
  }

  private mutating func fail(_ reason: String) -> Step {
    state = .failed(reason)
    return .malformed(reason)
  }

  private mutating func nextFramed(_ framing: BodyFraming) -> Step {
    var framing = framing
    var index = used
    let step = framing.next(rest.span.bytes, from: &index)
    used = index
    state = .framed(framing)
    switch step {
    case .data(let range): return .body(Array(rest[range]))
    case .end:
      state = .over
      return .end
    case .more: return isOver ? fail("the connection ended before the answer did") : .more
    case .malformed: return fail("a chunk of the answer is invalid")
    }
  }

  // MARK: - The head

  private mutating func nextHead() -> Step {
    while true {
      guard let lines = takeLines() else {
        guard headBytes + rest.count - used <= Self.headLimit else {
          return fail("the answer's head is too long")
        }
        return isOver ? fail("the connection ended before there was an answer") : .more
      }
      guard headBytes <= Self.headLimit else { return fail("the answer's head is too long") }
      guard let head = parsed(lines) else { return fail("the answer isn't HTTP/1.1") }
      // We never ask for another protocol.
      guard head.status != 101 else { return fail("the server changed the protocol") }
      if head.status < 200 { continue }
      return begin(head, isOld: lines[0].hasPrefix("HTTP/1.0"))
    }
  }

  /// Takes the lines of a complete head, without their ends; a line may end with LF alone (RFC 9112 §2.2).
  private mutating func takeLines() -> [String]? {
    while scanned < rest.count {
      defer { scanned += 1 }
      guard rest[scanned] == 0x0A else { continue }
      let end = scanned > lineStart && rest[scanned - 1] == 0x0D ? scanned - 1 : scanned
      let line = HeaderText.text(rest[lineStart..<end])
      lineStart = scanned + 1
      if !line.isEmpty {
        lines.append(line)
        continue
      }
      // An empty line before the status line is skipped.
      guard !lines.isEmpty else { continue }
      headBytes += lineStart - used
      used = lineStart
      defer { lines = [] }
      return lines
    }
    return nil
  }

  private mutating func parsed(_ lines: [String]) -> HTTPHead? {
    let words = lines[0].utf8.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3,
      let status = Int(words[1]),
      (100...999).contains(status)
    else { return nil }
    var head = HTTPHead(status, reason: words.count > 2 ? words[2] : nil)
    isTidy = true
    var isSkipping = false
    for line in lines.dropFirst() {
      // A folded line is part of the one before (RFC 9112 §5.2).
      if line.utf8.first == 0x20 || line.utf8.first == 0x09, !isSkipping, !head.fields.isEmpty {
        head.fields.unfold(line)
        continue
      }
      let header = Self.header(line)
      isSkipping = header == nil
      if let header {
        head.fields.append(header)
      } else if Self.mayFrame(line) {
        return nil
      } else {
        isTidy = false
      }
    }
    return head
  }

  /// Nil if the line isn't a header: like libsoup, we skip lines without a colon or a name, or with blanks in the name,
  /// together with the folded lines after them.
  private static func header(_ line: String) -> HTTPField? {
    guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
      line.utf8[..<colon].allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else { return nil }
    return HTTPField(
      String(line[..<colon]), HTTPField.trimmed(line[line.utf8.index(after: colon)...]))
  }

  /// Whether another parser might read a body length from such a line, so that parsers could disagree on where the response
  /// ends.
  private static func mayFrame(_ line: String) -> Bool {
    let line = line.lowercased()
    return line.contains("content-length") || line.contains("transfer-encoding")
  }

  /// Determines how the body is delimited (RFC 9112 §6.3).
  private mutating func begin(_ head: HTTPHead, isOld: Bool) -> Step {
    let connection = head.fields.members("connection")
    keepsConnection =
      isTidy && (isOld ? connection.contains("keep-alive") : !connection.contains("close"))
    let codings = head.fields.members("transfer-encoding")
    let lengths = Set(head.fields.members("content-length"))
    if isHEAD || head.status == 204 || head.status == 304 {
      state = .over
    } else if codings.last == "chunked" {
      // A length in addition may be an attempt at response smuggling.
      if !lengths.isEmpty { keepsConnection = false }
      state = .framed(.chunked(ChunkedDecoder()))
    } else if !codings.isEmpty || lengths.isEmpty {
      keepsConnection = false
      state = .open
    } else {
      guard lengths.count == 1, let text = lengths.first,
        text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let length = UInt64(text), length <= UInt64(Int64.max)
      else { return fail("the answer's length is invalid") }
      state = .framed(.length(remaining: length))
    }
    return .head(head)
  }
}
