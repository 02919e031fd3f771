import CSSL

/// The server's side of one TLS connection over a non-blocking socket. Not thread-safe.
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
    /// The client sent plain text; nothing was sent.
    case plainText
    /// The handshake failed; the client was told by an alert.
    case failed
    /// The client closed the connection.
    case ended
  }

  /// The result of a read or write.
  package enum Transfer: Sendable, Equatable {
    case bytes(Int)
    /// The peer sends no more.
    case end
    case wouldBlock
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
  private let wire: UnsafeMutablePointer<xcache_wire>
  /// Whether nothing can be sent any more: an alert ended the session, or a record was sent only partly.
  private var isWriteClosed = true

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

  /// Whether a read may find more without another event on the socket.
  package var mayHaveMore: Bool { !wire.pointee.drained || SSL_has_pending(ssl) == 1 }

  /// Continues the handshake.
  package func handshake() -> Handshake {
    begin()
    let result = SSL_accept(ssl)
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

  /// Reads the client's data into `buffer`, which must not be empty.
  package func receive(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
    begin()
    let count = SSL_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count))
    if count > 0 { return .bytes(Int(count)) }
    switch SSL_get_error(ssl, count) {
    case SSL_ERROR_ZERO_RETURN: return .end
    case SSL_ERROR_WANT_READ: return wire.pointee.budget <= 0 ? .budgetSpent : .wouldBlock
    // A protocol message of our own didn't fit; it is retried when there is space.
    case SSL_ERROR_WANT_WRITE: return .wouldBlock
    default:
      isWriteClosed = true
      ERR_clear_error()
      return wire.pointee.ended ? .end : .broken
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
    return error == SSL_ERROR_WANT_WRITE ? .wouldBlock : .broken
  }

  /// Tells the client that nothing more will be sent (RFC 8446 §6.1), if there is space for it.
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
