import HTTP
import System

/// One loop's access lines, collected until they are worth handing over.
struct LogBuffer {
  private let log: AccessLog
  private var lines: [UInt8] = []
  private var count = 0

  /// Lines are handed over from this size on.
  private static let size = 32_768
  /// They wait a second at most.
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

  /// Hands over what waits.
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
      addEscaped(request.target)
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
    if request.target.isEmpty { lines.append(0x2D) } else { addEscaped(request.target) }
    lines.append(contentsOf: "\",\"status\":\(status),\"bytes\":\(bytes)".utf8)
    lines.append(contentsOf: ",\"microseconds\":\(microseconds),\"agent\":\"".utf8)
    addEscaped(request.userAgent)
    lines.append(contentsOf: "\"}\n".utf8)
  }

  /// Adds a client's words such that they can't leave their quotes or their line.
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
