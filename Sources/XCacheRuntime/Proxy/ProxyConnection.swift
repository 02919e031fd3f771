import HTTP
import System

/// The proxy's end of a connection of the engine's: carries out what `HTTPConnection` decides, on a thread that may block.
final class ProxyConnection {
  let stream: any ProxyStream
  private var http: HTTPConnection
  private var workspace = ConnectionWorkspace()
  /// When waiting for bytes is over, in monotonic nanoseconds.
  private var limit: UInt64 = .max
  /// When the password has to be there, likewise.
  private var handshakeLimit: UInt64
  private var piece: [UInt8] = []
  private var isBodyOver = true
  /// The answer has begun before the end of the body.
  private var isAnswered = false

  /// What was read of the stream before.
  private var early: ArraySlice<UInt8>

  /// How long a body that nobody wants is dropped, in nanoseconds, and milliseconds without a byte of it.
  private static let lingering: UInt64 = 60_000_000_000
  private static let silence = 10_000

  /// How long a connection without a request is kept.
  static let idleMilliseconds = 600_000

  /// Engines keep connections for minutes, and may send a request at the moment in which one is closed.
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
  ///   - early: bytes that were read of `stream` already.
  ///   - handshakeLimit: when the password has to be there, in monotonic nanoseconds.
  init(_ stream: any ProxyStream, after early: [UInt8] = [], until handshakeLimit: UInt64 = .max) {
    self.stream = stream
    self.early = early[...]
    self.handshakeLimit = handshakeLimit
    http = HTTPConnection(Self.rules, Clock.monotonicNanoseconds())
  }

  /// The other side showed the password: it may take its time from now on.
  func isKnown() { handshakeLimit = .max }

  /// The next request; nil: there is none any more.
  func next() -> ProxyHead? {
    while true {
      switch http.next(&workspace, Clock.monotonicNanoseconds()) {
      case .read: guard read() else { return nil }
      case .wait(let until): waits(until)
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

  /// The next bytes of the request's body; none at its end; nil where it breaks off.
  func nextOfBody() -> [UInt8]? {
    while !isBodyOver {
      switch http.next(&workspace, Clock.monotonicNanoseconds()) {
      case .read: guard read() else { return nil }
      case .readBody(let size): guard readBody(upTo: size) else { return nil }
      case .wait(let until): waits(until)
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

  /// The request is answered: says whether the connection stays open behind the answer. It doesn't where the body isn't over, more of
  /// which may still go on to the server.
  func answers() -> Bool {
    guard isBodyOver else {
      isAnswered = true
      return false
    }
    return http.answer(closing: false, Clock.monotonicNanoseconds()) != .close
  }

  /// Drops what the engine still sends of a body behind its answer, until it ends the connection. WebKit reads an answer when all of the
  /// body is sent, and closing the connection before that would take the answer away (RFC 9112 §9.6).
  func linger() {
    guard !isBodyOver else { return }
    let end = Clock.monotonicNanoseconds() + Self.lingering
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while Clock.monotonicNanoseconds() < end {
      guard let count = buffer.withUnsafeMutableBytes({ stream.read(into: $0, within: Self.silence) }),
        count > 0
      else { return }
    }
  }

  /// What arrived behind the last head, for who takes the stream over.
  func takeRest() -> [UInt8] { workspace.input.takeAll() }

  private func waits(_ until: UInt64) {
    limit = until
    http.becameReadable()
  }

  private var milliseconds: Int {
    let (now, limit) = (Clock.monotonicNanoseconds(), min(limit, handshakeLimit))
    return limit == .max ? Int(Int32.max) : Int(clamping: (limit > now ? limit - now : 0) / 1_000_000)
  }

  private func read() -> Bool {
    // Who sends all the time isn't waited for, and has no more of it.
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

  /// Nil where there is nothing early any more.
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
