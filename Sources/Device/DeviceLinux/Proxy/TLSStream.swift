import CDeviceTLS
import Linux
import System
import XCacheRuntime

/// A connection with TLS over libssl.
final class TLSStream: ProxyStream {
  /// Only one thread at a time may call libssl for a session; the lock is never held while waiting.
  private final class Session: Sendable {
    private let ssl: Locked<Int>

    init(_ ssl: OpaquePointer) { self.ssl = Locked(Int(bitPattern: ssl)) }

    func call<Result: Sendable>(_ body: (OpaquePointer) -> Result) -> Result? {
      ssl.withLock { OpaquePointer(bitPattern: $0).map(body) }
    }

    deinit { _ = call { SSL_free($0) } }
  }

  private let socket: SocketStream
  private let session: Session
  private let broken = Locked(false)

  /// A `BIO_METHOD`, created once; 0 if there was no memory.
  private static let method = Int(bitPattern: xcache_wire_method())

  /// Performs the TLS handshake over a socket; nil if that fails.
  /// - Parameters:
  ///   - socket: the connection.
  ///   - context: an `SSL_CTX`.
  ///   - host: the server's name; nil if this side is the server.
  ///   - early: bytes already read from the socket.
  ///   - milliseconds: how long to wait for the other side at each step.
  init?(
    _ socket: SocketStream, _ context: OpaquePointer, host: String?, after early: [UInt8] = [],
    within milliseconds: Int = 10_000
  ) {
    guard let method = OpaquePointer(bitPattern: Self.method) else { return nil }
    let made =
      host.map { xcache_session(context, method, socket.raw, $0, early, early.count) }
      ?? xcache_session(context, method, socket.raw, nil, early, early.count)
    guard let made else { return nil }
    self.socket = socket
    session = Session(made)
    let isDone = repeated(within: milliseconds) { ssl, _ in xcache_tls_handshake(ssl) }
    guard isDone != nil else { return nil }
  }

  /// Calls libssl until it is done, waiting in between.
  /// - Returns: the number of bytes; 0 at the end; nil if it failed or took too long.
  private func repeated(
    within milliseconds: Int, _ call: (OpaquePointer, UnsafeMutablePointer<Int>) -> Int32
  ) -> Int? {
    while true {
      let step = session.call { ssl -> (step: Int32, count: Int) in
        var count = 0
        return (call(ssl, &count), count)
      }
      guard let step else { return nil }
      switch xcache_tls_step(rawValue: UInt32(step.step)) {
      case xcache_tls_done: return step.count
      case xcache_tls_ended: return 0
      case xcache_tls_wants_read:
        guard Kernel.wait(socket.raw, for: .reading, milliseconds: milliseconds) else { return nil }
      case xcache_tls_wants_write:
        guard Kernel.wait(socket.raw, for: .writing, milliseconds: milliseconds) else { return nil }
      default: return nil
      }
    }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, within milliseconds: Int) -> Int? {
    var hasFailed = false
    let count = repeated(within: milliseconds) { ssl, count in
      let step = xcache_tls_read(ssl, buffer.baseAddress, buffer.count, count)
      if step == Int32(xcache_tls_failed.rawValue) { hasFailed = true }
      return step
    }
    guard hasFailed else { return count }
    broken.withLock { $0 = true }
    return 0
  }

  var isBroken: Bool { broken.withLock { $0 } }

  func write(_ bytes: UnsafeRawBufferPointer, within milliseconds: Int) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let piece = rest
      let count = repeated(within: milliseconds) { ssl, count in
        xcache_tls_write(ssl, piece.baseAddress, piece.count, count)
      }
      guard let count, count > 0 else { return false }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
    return true
  }

  var isGone: Bool { socket.isGone }
  func finishWriting() { _ = session.call { xcache_tls_finish($0) } }
  func close() { socket.close() }
  func reset() { socket.reset() }
}
