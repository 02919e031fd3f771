import CSSL
import System

/// What sessions of one certificate begin with: protocols, ciphers, the certificate, the keys of tickets.
final class TLSContext: @unchecked Sendable {
  // Unchecked: nothing is changed once the initialiser is done, and SSL_new(3) counts references by atomics.
  private let context: OpaquePointer

  /// How long a session may be resumed, in seconds.
  static let sessionSeconds = 43_200
  /// Bytes of the keys of tickets.
  static let ticketKeySize = 80

  // Unsafe: made once, and never changed.
  nonisolated(unsafe) private static let method: OpaquePointer = {
    guard let method = xcache_wire_method() else { fatalError("libssl has no memory for a transport") }
    return method
  }()

  /// - Throws: `refused` where libssl doesn't take the certificate.
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

  /// The server's side of a new connection; nil where there is no memory.
  func session(on socket: Int32) -> TLSSession? { TLSSession(context, Self.method, socket) }

  /// libssl's words for what it refused last.
  private static var reason: String {
    guard let text = ERR_reason_error_string(ERR_peek_last_error()) else { return "no reason given" }
    return String(cString: text)
  }
}
