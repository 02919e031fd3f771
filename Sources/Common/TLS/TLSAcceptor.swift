import System

/// Starts TLS with new connections; the certificate can be replaced at run time.
package final class TLSAcceptor: Sendable {
  private struct State {
    var credentials: TLSCredentials
    var context: TLSContext
    /// Kept when the certificate changes, so that sessions can still be resumed.
    var ticketKeys: [UInt8]
    /// When the keys are replaced, as a monotonic time.
    var keysEnd: UInt64
  }

  /// Limits the damage of leaked ticket keys: they don't expose what was sent more than a day before.
  private static let keyLife: UInt64 = 86_400_000_000_000

  private let certificatePath: String
  /// The path of the key's file.
  package let keyPath: String
  private let state: Locked<State>

  /// Reads a certificate, followed by its chain, and its key.
  package init(certificate: String, key: String) throws(TLSError) {
    certificatePath = certificate
    keyPath = key
    let credentials = try TLSCredentials(certificate: certificate, key: key)
    let keys = Secrets.random(TLSContext.ticketKeySize)
    let context = try TLSContext(credentials, path: certificate, ticketKeys: keys)
    state = Locked(
      State(
        credentials: credentials, context: context, ticketKeys: keys,
        keysEnd: Clock.monotonicNanoseconds() &+ Self.keyLife))
  }

  /// The credentials for new connections.
  package var credentials: TLSCredentials { state.withLock { $0.credentials } }

  /// Reads both files again, for new connections; if that fails, the old certificate stays.
  package func reload() throws(TLSError) {
    let credentials = try TLSCredentials(certificate: certificatePath, key: keyPath)
    let keys = state.withLock { $0.ticketKeys }
    let context = try TLSContext(credentials, path: certificatePath, ticketKeys: keys)
    state.withLock { state in
      state.credentials = credentials
      state.context = context
    }
  }

  /// Returns the server's side of a new connection; nil if out of memory.
  package func session(on socket: Int32) -> TLSSession? { current.session(on: socket) }

  private var current: TLSContext {
    let now = Clock.monotonicNanoseconds()
    return state.withLock { state in
      if now >= state.keysEnd {
        let keys = Secrets.random(TLSContext.ticketKeySize)
        state.keysEnd = now &+ Self.keyLife
        // This certificate was accepted before.
        if let context = try? TLSContext(state.credentials, path: certificatePath, ticketKeys: keys) {
          state.context = context
          state.ticketKeys = keys
        }
      }
      return state.context
    }
  }
}
