import HTTP
import System
import Values

/// One loop's access lines, collected into batches.
struct LogBuffer {
  private let log: AccessLog
  private var lines: [UInt8] = []
  private var count = 0

  /// The size from which lines are handed over.
  private static let size = 32_768
  /// The longest time that lines wait, in nanoseconds.
  static let delay: UInt64 = 1_000_000_000

  init(_ log: AccessLog) { self.log = log }

  /// Adds the line of an answer whose body has `bytes` bytes.
  mutating func add(_ request: LogRequest, status: UInt16, bytes: UInt64, microseconds: UInt64) {
    switch log.format {
    case .common: addCommon(request, status, bytes)
    case .json: addJSON(request, status, bytes, microseconds)
    }
    count += 1
    if lines.count >= LogBuffer.size { flush() }
  }

  /// Hands over the collected lines.
  mutating func flush() {
    guard !lines.isEmpty else { return }
    log.write(lines, count: count)
    count = 0
    lines.removeAll(keepingCapacity: true)
  }

  /// `host - - [10/Oct/2000:13:55:36 +0000] "GET /x HTTP/1.1" 200 2326`; `"-"` for a request that couldn't be read.
  private mutating func addCommon(_ request: LogRequest, _ status: UInt16, _ bytes: UInt64) {
    let time = LogTime(Clock.unixMilliseconds() / 1000)
    lines.append(contentsOf: "\(request.peer) - - [\(time.common)] \"\(request.method)".utf8)
    if !request.target.isEmpty {
      lines.append(0x20)
      addEscaped(LoggedTarget.shown(request.target))
      lines.append(contentsOf: " HTTP/1.\(request.isHTTP11 ? 1 : 0)".utf8)
    }
    lines.append(contentsOf: "\" \(status) \(bytes)\n".utf8)
  }

  private mutating func addJSON(
    _ request: LogRequest, _ status: UInt16, _ bytes: UInt64, _ microseconds: UInt64
  ) {
    let time = LogTime(Clock.unixMilliseconds() / 1000)
    lines.append(contentsOf: "{\"time\":\"\(time.iso)\",\"peer\":\"\(request.peer)\"".utf8)
    lines.append(contentsOf: ",\"method\":\"\(request.method)\",\"target\":\"".utf8)
    if request.target.isEmpty {
      lines.append(0x2D)
    } else {
      addEscaped(LoggedTarget.shown(request.target))
    }
    lines.append(contentsOf: "\",\"status\":\(status),\"bytes\":\(bytes)".utf8)
    lines.append(contentsOf: ",\"microseconds\":\(microseconds),\"agent\":\"".utf8)
    addEscaped(request.userAgent)
    lines.append(contentsOf: "\"}\n".utf8)
  }

  /// Appends a client's text, escaped so that it can't end its quotes or its line.
  private mutating func addEscaped(_ bytes: [UInt8]) {
    for byte in bytes {
      if byte == 0x22 || byte == 0x5C {
        lines.append(contentsOf: [0x5C, byte])
      } else if byte >= 0x20, byte < 0x7F {
        lines.append(byte)
      } else {
        let digits = String(byte, radix: 16)
        lines.append(contentsOf: "\\u00\(digits.utf8.count == 1 ? "0" : "")\(digits)".utf8)
      }
    }
  }
}

/// What an access line says about a request, as far as it was parsed.
struct LogRequest {
  let peer: IPAddress
  let method: StaticString
  /// The target as sent; empty if none was read, in which case the version isn't known either.
  let target: [UInt8]
  let isHTTP11: Bool
  let userAgent: [UInt8]

  /// Copies from a request whose path isn't normalised yet; for a head that was refused or incomplete, the fields parsed so
  /// far.
  init(_ head: borrowing RequestHead, in bytes: RawSpan, from peer: IPAddress) {
    self.peer = peer
    method = head.target.isAbsent ? Method.other.name : head.method.name
    target = bytes.extracting(head.target.range).array
    isHTTP11 = head.isHTTP11
    userAgent =
      head.has(.userAgent)
      ? bytes.extracting(head.fields[Int(FieldName.userAgent.rawValue)].range).array : []
  }

  /// Stands for a request of which nothing was read.
  init(from peer: IPAddress) {
    self.peer = peer
    method = Method.other.name
    target = []
    isHTTP11 = true
    userAgent = []
  }
}

/// A point in time in the two formats of access lines.
struct LogTime {
  /// `10/Oct/2000:13:55:36 +0000`
  let common: String
  /// `2000-10-10T13:55:36Z`
  let iso: String

  /// - Parameter seconds: since 1970-01-01T00:00:00Z.
  init(_ seconds: Int64) {
    // Every part of "Tue, 10 Oct 2000 13:55:36 GMT" has a fixed position.
    let date = Array(HTTPDate(seconds).description.utf8)
    func part(_ range: Range<Int>) -> String { String(decoding: date[range], as: UTF8.self) }
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let month = (months.firstIndex(of: part(8..<11)) ?? 0) + 1
    common = "\(part(5..<7))/\(part(8..<11))/\(part(12..<16)):\(part(17..<25)) +0000"
    iso = "\(part(12..<16))-\(month < 10 ? "0" : "")\(month)-\(part(5..<7))T\(part(17..<25))Z"
  }
}

/// What an access line repeats of a target.
enum LoggedTarget {
  /// Where people sign in: a provider's codes come in these queries, and links of the console, which nobody else needs to know.
  private static let signIn = Array("/auth/".utf8)

  /// Returns a target without secrets: tokens are masked, and of a sign-in's query only `?...` is left.
  static func shown(_ target: [UInt8]) -> [UInt8] {
    guard let mark = target.firstIndex(of: UInt8(ascii: "?")), isSignIn(target[..<mark]) else {
      return TokenMask.masked(target, ellipsis: "...")
    }
    return TokenMask.masked(Array(target[..<mark]), ellipsis: "...") + "?...".utf8
  }

  /// Whether `/auth/` is in a path, which isn't normalised yet and may have a scheme and an authority before it.
  private static func isSignIn(_ path: ArraySlice<UInt8>) -> Bool {
    path.indices.contains { path[$0...].starts(with: signIn) }
  }
}
