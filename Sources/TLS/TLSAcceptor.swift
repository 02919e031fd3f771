import System

/// Begins TLS with those who connect, and takes a new certificate while they do.
package final class TLSAcceptor: Sendable {
  private struct State {
    var credentials: TLSCredentials
    var context: TLSContext
    /// Sessions may be resumed across a change of the certificate, since these stay.
    var ticketKeys: [UInt8]
    /// When other keys take their place, a monotonic time.
    var keysEnd: UInt64
  }

  /// Nobody who finds the keys of tickets reads what was sent more than a day before.
  private static let keyLife: UInt64 = 86_400_000_000_000

  private let certificatePath: String
  /// The file of the key.
  package let keyPath: String
  private let state: Locked<State>

  /// Reads a certificate, with those that it is signed by behind it, and its key.
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

  /// What those who connect now are shown.
  package var credentials: TLSCredentials { state.withLock { $0.credentials } }

  /// Reads both files anew, for those who connect from now on; where that fails, the old certificate stays.
  package func reload() throws(TLSError) {
    let credentials = try TLSCredentials(certificate: certificatePath, key: keyPath)
    let keys = state.withLock { $0.ticketKeys }
    let context = try TLSContext(credentials, path: certificatePath, ticketKeys: keys)
    state.withLock { state in
      state.credentials = credentials
      state.context = context
    }
  }

  /// The server's side of a new connection; nil where there is no memory.
  package func session(on socket: Int32) -> TLSSession? { current.session(on: socket) }

  private var current: TLSContext {
    let now = Clock.monotonicNanoseconds()
    return state.withLock { state in
      if now >= state.keysEnd {
        let keys = Secrets.random(TLSContext.ticketKeySize)
        state.keysEnd = now &+ Self.keyLife
        // The same certificate was taken before.
        if let context = try? TLSContext(state.credentials, path: certificatePath, ticketKeys: keys) {
          state.context = context
          state.ticketKeys = keys
        }
      }
      return state.context
    }
  }
}
