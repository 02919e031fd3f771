import CSSL
import System

/// What sessions share: protocols, ciphers, and the certificates that are shown or trusted.
package final class TLSContext: @unchecked Sendable {
  // Unchecked: immutable after the initialiser, and SSL_new(3) counts references atomically.
  private let context: OpaquePointer

  /// How long a session may be resumed, in seconds.
  static let sessionSeconds = 43_200
  /// The size of the ticket keys, in bytes.
  static let ticketKeySize = 80

  // Unsafe: created once and never changed. Nil if there was no memory.
  nonisolated(unsafe) private static let method: OpaquePointer? = xcache_wire_method()

  /// A context of a server with a certificate that others issued.
  ///
  /// - Throws: `refused` if libssl doesn't accept the certificate.
  init(_ credentials: TLSCredentials, path: String, ticketKeys: [UInt8]) throws(TLSError) {
    Libcrypto.keepUntilEnd()
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

  /// A context of clients; nil if it can't be made.
  ///
  /// - Parameter authorities: A PEM file of the certificates to trust in servers; if nil, the system's.
  package convenience init?(trusting authorities: String?) {
    Libcrypto.keepUntilEnd()
    defer { ERR_clear_error() }
    guard let context = xcache_client_context(authorities) else { return nil }
    self.init(owning: context)
  }

  init(owning context: OpaquePointer) { self.context = context }

  deinit { SSL_CTX_free(context) }

  /// Returns the server's side of a new connection; nil if out of memory.
  ///
  /// - Parameter early: The bytes that were already read from the socket.
  package func session(on socket: Int32, after early: [UInt8] = []) -> TLSSession? {
    Self.method.flatMap { TLSSession(context, $0, socket, after: early, to: nil) }
  }

  /// Returns the client's side of a new connection; nil if out of memory.
  ///
  /// - Parameter host: The server's name or IP address, which its certificate must match.
  package func session(on socket: Int32, to host: String) -> TLSSession? {
    Self.method.flatMap { TLSSession(context, $0, socket, after: [], to: host) }
  }

  /// libssl's reason for its latest refusal.
  private static var reason: String {
    guard let text = ERR_reason_error_string(ERR_peek_last_error()) else { return "no reason given" }
    return String(cString: text)
  }
}
