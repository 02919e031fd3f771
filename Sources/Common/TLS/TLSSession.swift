import CSSL
import System

/// One side of a TLS connection over a non-blocking socket. Not thread-safe.
///
/// It reads and writes the socket; the owner waits for it and closes it.
package final class TLSSession {
  /// The result of a step of the handshake.
  package enum Handshake: Sendable, Equatable {
    case done(isResumed: Bool)
    /// More input is needed.
    case needsInput
    /// The socket's send buffer is full.
    case needsSpace
    /// There is more to read, but others have their turn first.
    case budgetSpent
    /// The peer sent plain text; no alert was sent.
    case plainText
    /// The handshake failed; the peer was told by an alert.
    case failed
    /// The peer closed the connection.
    case ended
  }

  /// The result of a read or write.
  package enum Transfer: Sendable, Equatable {
    case bytes(Int)
    /// The peer sends no more.
    case end
    /// More input is needed.
    case needsInput
    /// The socket's send buffer is full.
    case needsSpace
    /// There is more to read, but others have their turn first.
    case budgetSpent
    /// The connection is gone, or the data received isn't TLS.
    case broken
  }

  /// The size of the largest record (RFC 8446 §5.1), in bytes: the most that one write takes.
  package static let recordSize = 16_384
  /// How many bytes one call reads from the socket, whatever they are, before others have their turn.
  private static let readBudget = 131_072

  private let ssl: OpaquePointer
  /// Belongs to `ssl`.
  private let wire: UnsafeMutablePointer<xcache_wire>
  /// Whether nothing can be sent any more: an alert ended the session, or a record was sent only partly.
  private var isWriteClosed = true
  /// Whether a peer that went without an alert is sent one at the end all the same: a body that ends with its connection is whole
  /// only then.
  package var alertsSilentPeers = false

  /// Returns nil if out of memory.
  ///
  /// - Parameters:
  ///   - early: The bytes that were already read from the socket.
  ///   - host: The server's name or IP address; nil if this side is the server.
  init?(
    _ context: OpaquePointer, _ method: OpaquePointer, _ socket: Int32, after early: [UInt8], to host: String?
  ) {
    var made: UnsafeMutablePointer<xcache_wire>?
    guard let ssl = xcache_tls_session(context, method, socket, early, early.count, &made), let wire = made
    else {
      ERR_clear_error()
      return nil
    }
    self.ssl = ssl
    self.wire = wire
    if let host {
      guard xcache_tls_connect_to(ssl, host) == 1 else { return nil }
    } else {
      SSL_set_accept_state(ssl)
    }
  }

  deinit { Libcrypto.using { SSL_free(ssl) } }

  /// Whether a read may find more without another event on the socket.
  package var mayHaveMore: Bool { !wire.pointee.drained || SSL_has_pending(ssl) == 1 }

  /// Continues the handshake.
  package func handshake() -> Handshake {
    begin()
    let result = SSL_do_handshake(ssl)
    if result == 1 {
      isWriteClosed = false
      return .done(isResumed: xcache_is_resumed(ssl) == 1)
    }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ: return wire.pointee.budget <= 0 ? .budgetSpent : .needsInput
    case SSL_ERROR_WANT_WRITE: return .needsSpace
    default:
      ERR_clear_error()
      if wire.pointee.plain { return .plainText }
      return wire.pointee.ended ? .ended : .failed
    }
  }

  /// Reads the peer's data into `buffer`, which must not be empty.
  package func receive(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
    begin()
    let count = SSL_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count))
    if count > 0 { return .bytes(Int(count)) }
    switch SSL_get_error(ssl, count) {
    case SSL_ERROR_ZERO_RETURN:
      guard wire.pointee.ended else { return .end }
      // A peer that went without an alert isn't sent one either, unless something else is still sent.
      if !alertsSilentPeers { isWriteClosed = true }
      // An end in the middle of a record isn't an end.
      return SSL_has_pending(ssl) == 1 ? .broken : .end
    case SSL_ERROR_WANT_READ: return wire.pointee.budget <= 0 ? .budgetSpent : .needsInput
    // A protocol message of our own didn't fit; it is retried when there is space.
    case SSL_ERROR_WANT_WRITE: return .needsSpace
    default:
      isWriteClosed = true
      ERR_clear_error()
      return .broken
    }
  }

  /// Sends bytes, one record at most: all of them, or none if there is no space. Then the next call must begin with the
  /// same bytes, and have at least as many.
  ///
  /// `more` says that more data follows at once, so a partly filled segment is held back.
  package func send(_ bytes: UnsafeRawBufferPointer, more: Bool) -> Transfer {
    begin()
    wire.pointee.more = more
    let count = SSL_write(ssl, bytes.baseAddress, Int32(clamping: min(bytes.count, Self.recordSize)))
    wire.pointee.more = false
    isWriteClosed = count <= 0
    if count > 0 { return .bytes(Int(count)) }
    let error = SSL_get_error(ssl, count)
    ERR_clear_error()
    return switch error {
    case SSL_ERROR_WANT_WRITE: .needsSpace
    // In a server's renegotiation with TLS 1.2, which may begin at any time.
    case SSL_ERROR_WANT_READ: .needsInput
    default: .broken
    }
  }

  /// Tells the peer that nothing more will be sent (RFC 8446 §6.1), if there is space for it.
  package func sendCloseNotify() {
    guard !isWriteClosed else { return }
    isWriteClosed = true
    begin()
    _ = SSL_shutdown(ssl)
    ERR_clear_error()
  }

  /// Called before each operation: SSL_get_error(3) checks the thread's error queue, which must have only its own errors.
  private func begin() {
    ERR_clear_error()
    wire.pointee.budget = Self.readBudget
    wire.pointee.drained = false
  }
}
