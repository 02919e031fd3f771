import HTTP
import System

/// The proxy's side of a connection from the engine: carries out what `HTTPConnection` decides, on a thread that may block.
final class ProxyConnection {
  let stream: any ProxyStream
  private var http: HTTPConnection
  private var workspace = ConnectionWorkspace()
  /// When to stop waiting for bytes, in monotonic nanoseconds.
  private var limit: UInt64 = .max
  /// By when the password has to have arrived, in monotonic nanoseconds.
  private var handshakeLimit: UInt64
  private var piece: [UInt8] = []
  private var isBodyOver = true
  /// Whether the answer began before the end of the body.
  private var isAnswered = false

  /// Bytes that were read from the stream before.
  private var early: ArraySlice<UInt8>

  /// How long an unwanted body is discarded, in nanoseconds, and how many milliseconds without a byte end that.
  private static let lingerTime: UInt64 = 60_000_000_000
  private static let lingerSilence = 10_000

  /// How long an idle connection is kept, in milliseconds.
  static let idleMilliseconds = 600_000

  /// Generous, since engines keep connections for minutes, and may send a request just as one is closed.
  private static let rules: ConnectionRules = {
    var timeouts = Timeouts()
    timeouts.idle = UInt64(idleMilliseconds) / 1000 * Timeouts.second
    timeouts.body = 300 * Timeouts.second
    return ConnectionRules(
      request: RequestLimits(
        headBytes: 65_535, targetBytes: 65_535, fieldCount: 200, takesAnyPercent: true,
        takesControls: true), requests: .max,
      discardedBody: 1 << 20, timeouts: timeouts)
  }()

  /// - Parameters:
  ///   - stream: the connection to the engine.
  ///   - early: bytes already read from `stream`.
  ///   - handshakeLimit: by when the password has to have arrived, in monotonic nanoseconds.
  init(_ stream: any ProxyStream, after early: [UInt8] = [], until handshakeLimit: UInt64 = .max) {
    self.stream = stream
    self.early = early[...]
    self.handshakeLimit = handshakeLimit
    http = HTTPConnection(Self.rules, Clock.monotonicNanoseconds())
  }

  /// Lifts the time limit, because the other side has shown the password.
  func markAuthenticated() { handshakeLimit = .max }

  /// Returns the next request; nil if there are no more.
  func next() -> ProxyHead? {
    while true {
      switch http.next(&workspace, Clock.monotonicNanoseconds()) {
      case .read: guard read() else { return nil }
      case .wait(let until): setReadLimit(until)
      case .dispatch(let range):
        let head = ProxyHead(workspace.parser.head, in: UnsafeRawBufferPointer(workspace.input.memory(range)))
        isBodyOver = head.bodyLength == nil
        if !isBodyOver { _ = http.receiveBody(limit: .max, Clock.monotonicNanoseconds()) }
        return head
      case .refuse(let status):
        _ = stream.write(
          ProxyHead.answer(Int(status.code), [("Content-Length", "0"), ("Connection", "close")]))
        return nil
      default: return nil
      }
    }
  }

  /// Returns the next bytes of the request's body; empty at its end, nil if it broke off.
  func nextBodyBytes() -> [UInt8]? {
    while !isBodyOver {
      switch http.next(&workspace, Clock.monotonicNanoseconds()) {
      case .read: guard read() else { return nil }
      case .readBody(let size): guard readBody(upTo: size) else { return nil }
      case .wait(let until): setReadLimit(until)
      case .store(let range): piece.append(contentsOf: workspace.input.memory(range))
      case .deliver(let last):
        isBodyOver = last
        if !last { http.delivered(Clock.monotonicNanoseconds()) }
        if piece.isEmpty { continue }
        defer { piece = [] }
        return piece
      case .sendContinue:
        guard !isAnswered, stream.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) else { return nil }
      default: return nil
      }
    }
    return []
  }

  /// Marks the request as answered; returns whether the connection stays open after the answer. It doesn't if the body
  /// isn't complete, since the rest of it may still go on to the server.
  func beginAnswer() -> Bool {
    guard isBodyOver else {
      isAnswered = true
      return false
    }
    return http.answer(closing: false, Clock.monotonicNanoseconds()) != .close
  }

  /// Discards the rest of a body that the engine sends after the answer, until it ends the connection. WebKit only reads an
  /// answer once the whole body is sent, and closing the connection before that would destroy the answer (RFC 9112 §9.6).
  func linger() {
    guard !isBodyOver else { return }
    let end = Clock.monotonicNanoseconds() + Self.lingerTime
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while Clock.monotonicNanoseconds() < end {
      guard let count = buffer.withUnsafeMutableBytes({ stream.read(into: $0, within: Self.lingerSilence) }),
        count > 0
      else { return }
    }
  }

  /// Returns the bytes that arrived after the last head, for the code that takes over the stream.
  func takeRest() -> [UInt8] { workspace.input.takeAll() }

  private func setReadLimit(_ until: UInt64) {
    limit = until
    http.becameReadable()
  }

  private var milliseconds: Int {
    let (now, limit) = (Clock.monotonicNanoseconds(), min(limit, handshakeLimit))
    return limit == .max ? Int(Int32.max) : Int(clamping: (limit > now ? limit - now : 0) / 1_000_000)
  }

  private func read() -> Bool {
    // A client that keeps sending is never waited for, so the limit is checked here too.
    guard handshakeLimit == .max || Clock.monotonicNanoseconds() < handshakeLimit else { return false }
    let space = workspace.input.space()
    guard let count = take(into: space) ?? stream.read(into: space, within: milliseconds) else {
      return false
    }
    if count == 0 {
      http.inputEnded()
    } else {
      workspace.input.append(count)
      http.received(count, filled: false, Clock.monotonicNanoseconds())
    }
    return true
  }

  /// Nil if no early bytes are left.
  private func take(into space: UnsafeMutableRawBufferPointer) -> Int? {
    if early.isEmpty { return nil }
    let count = min(early.count, space.count)
    space.copyBytes(from: early.prefix(count))
    early = early.dropFirst(count)
    return count
  }

  private func readBody(upTo size: Int) -> Bool {
    var buffer = [UInt8](repeating: 0, count: min(size, InputBuffer.readSize))
    guard let count = buffer.withUnsafeMutableBytes({ stream.read(into: $0, within: milliseconds) }) else {
      return false
    }
    if count == 0 {
      http.inputEnded()
    } else {
      piece.append(contentsOf: buffer[..<count])
      http.receivedBody(count, filled: false, Clock.monotonicNanoseconds())
    }
    return true
  }
}
