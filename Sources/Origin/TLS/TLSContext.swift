import CSSL
import System

/// What all sessions of one certificate share: protocols, ciphers, the certificate and the ticket keys.
final class TLSContext: @unchecked Sendable {
  // Unchecked: immutable after the initialiser, and SSL_new(3) counts references atomically.
  private let context: OpaquePointer

  /// How long a session may be resumed, in seconds.
  static let sessionSeconds = 43_200
  /// The size of the ticket keys, in bytes.
  static let ticketKeySize = 80

  // Unsafe: created once and never changed.
  nonisolated(unsafe) private static let method: OpaquePointer = {
    guard let method = xcache_wire_method() else { fatalError("libssl has no memory for a transport") }
    return method
  }()

  /// - Throws: `refused` if libssl doesn't accept the certificate.
  init(_ credentials: TLSCredentials, path: String, ticketKeys: [UInt8]) throws(TLSError) {
    guard let context = SSL_CTX_new(TLS_server_method()),
      xcache_tls_rules(context, Self.sessionSeconds) == 1
    else { fatalError("libssl doesn't give a server's context: \(Self.reason)") }
    self.context = context
    defer { ERR_clear_error() }
    guard xcache_tls_use(context, credentials.leaf, credentials.key) == 1,
      credentials.chain.allSatisfy({ xcache_tls_add_chain(context, $0) == 1 })
    else { throw .refused(path: path, reason: Self.reason) }
    var keys = ticketKeys
    precondition(xcache_ticket_key_size(context) == keys.count)
    guard xcache_set_ticket_keys(context, &keys, keys.count) == 1 else {
      fatalError("libssl doesn't take the keys of tickets: \(Self.reason)")
    }
  }

  deinit { SSL_CTX_free(context) }

  /// Returns the server's side of a new connection; nil if out of memory.
  func session(on socket: Int32) -> TLSSession? { TLSSession(context, Self.method, socket) }

  /// libssl's reason for its latest refusal.
  private static var reason: String {
    guard let text = ERR_reason_error_string(ERR_peek_last_error()) else { return "no reason given" }
    return String(cString: text)
  }
}
