import CSSL

/// The server's side of one TLS connection, over a socket that doesn't block. One thread's own.
///
/// It reads and writes the socket itself; whoever owns that waits for it and closes it.
package final class TLSSession {
  /// What a step of the handshake came to.
  package enum Handshake: Sendable, Equatable {
    case done(isResumed: Bool)
    /// The client has to send more.
    case needsInput
    /// The client has to take what was sent.
    case needsRoom
    /// There is more to read, but others have their turn first.
    case turnOver
    /// The client speaks plain text; nothing was sent.
    case plainText
    /// The client was told by an alert that it doesn't speak what we do.
    case failed
    /// The client closed.
    case ended
  }

  /// What a read or write came to.
  package enum Transfer: Sendable, Equatable {
    case bytes(Int)
    /// The other side sends no more.
    case end
    case wouldBlock
    /// There is more to read, but others have their turn first.
    case turnOver
    /// The connection is gone, or what came is no TLS.
    case broken
  }

  /// Bytes of the largest record (RFC 8446 §5.1): what one write takes.
  package static let recordSize = 16_384
  /// Bytes that one call reads of the socket before others have their turn, whatever they mean.
  private static let turn = 131_072

  private let ssl: OpaquePointer
  private let wire: UnsafeMutablePointer<xcache_wire>
  /// Nothing can be said any more: an alert ended the session, or a record went out half.
  private var isMute = true

  init?(_ context: OpaquePointer, _ method: OpaquePointer, _ socket: Int32) {
    wire = .allocate(capacity: 1)
    wire.initialize(to: xcache_wire())
    wire.pointee.socket = socket
    wire.pointee.first = -1
    guard let ssl = xcache_tls_session(context, method, wire) else {
      wire.deallocate()
      ERR_clear_error()
      return nil
    }
    self.ssl = ssl
  }

  deinit {
    SSL_free(ssl)
    wire.deallocate()
  }

  /// Whether a read may find more without the socket's saying so.
  package var mayHaveMore: Bool { !wire.pointee.drained || SSL_has_pending(ssl) == 1 }

  /// Goes on with the handshake.
  package func handshake() -> Handshake {
    begin()
    let result = SSL_accept(ssl)
    if result == 1 {
      isMute = false
      return .done(isResumed: xcache_is_resumed(ssl) == 1)
    }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ: return wire.pointee.budget <= 0 ? .turnOver : .needsInput
    case SSL_ERROR_WANT_WRITE: return .needsRoom
    default:
      ERR_clear_error()
      if wire.pointee.plain { return .plainText }
      return wire.pointee.ended ? .ended : .failed
    }
  }

  /// Reads what the client said into `buffer`, which isn't empty.
  package func receive(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
    begin()
    let count = SSL_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count))
    if count > 0 { return .bytes(Int(count)) }
    switch SSL_get_error(ssl, count) {
    case SSL_ERROR_ZERO_RETURN: return .end
    case SSL_ERROR_WANT_READ: return wire.pointee.budget <= 0 ? .turnOver : .wouldBlock
    // An answer of the protocol's own found no room; tried again when there is some.
    case SSL_ERROR_WANT_WRITE: return .wouldBlock
    default:
      isMute = true
      ERR_clear_error()
      return wire.pointee.ended ? .end : .broken
    }
  }

  /// Sends bytes, those of a record at most: all of them, or none where there is no room. Then they have to come again,
  /// first and with no fewer others behind them.
  ///
  /// - Parameter more: more follows at once, so a part-filled segment is held back.
  package func send(_ bytes: UnsafeRawBufferPointer, more: Bool) -> Transfer {
    begin()
    wire.pointee.more = more
    let count = SSL_write(ssl, bytes.baseAddress, Int32(clamping: min(bytes.count, Self.recordSize)))
    wire.pointee.more = false
    isMute = count <= 0
    if count > 0 { return .bytes(Int(count)) }
    let error = SSL_get_error(ssl, count)
    ERR_clear_error()
    return error == SSL_ERROR_WANT_WRITE ? .wouldBlock : .broken
  }

  /// Says that nothing more will be sent (RFC 8446 §6.1), as far as there is room to say it.
  package func sendCloseNotify() {
    guard !isMute else { return }
    isMute = true
    begin()
    _ = SSL_shutdown(ssl)
    ERR_clear_error()
  }

  /// Before each call: SSL_get_error(3) looks at the thread's errors, which have to be its own.
  private func begin() {
    ERR_clear_error()
    wire.pointee.budget = Self.turn
    wire.pointee.drained = false
  }
}
