import Linux
import System
import TLS
import XCacheRuntime

/// A connection with TLS.
final class TLSStream: ProxyStream {
  private let socket: SocketStream
  // Unsafe: used only within `lock`, which is never held while waiting.
  nonisolated(unsafe) private let session: TLSSession
  private let lock = Locked(())
  private let broken = Locked(false)

  /// Performs the TLS handshake over a socket; nil if that fails.
  /// - Parameters:
  ///   - socket: the connection.
  ///   - session: a session over this socket that nobody else uses; nil if there was no memory for one.
  ///   - milliseconds: how long to wait for the other side at each step.
  init?(_ socket: SocketStream, _ session: TLSSession?, within milliseconds: Int = 10_000) {
    guard let session else { return nil }
    self.socket = socket
    self.session = session
    session.alertsSilentPeers = true
    guard shakeHands(within: milliseconds) else { return nil }
  }

  private func shakeHands(within milliseconds: Int) -> Bool {
    while true {
      switch lock.withLock({ _ in Libcrypto.using { session.handshake() } }) {
      case .done: return true
      case .needsInput: guard waits(for: .reading, milliseconds) else { return false }
      case .needsSpace: guard waits(for: .writing, milliseconds) else { return false }
      case .budgetSpent: continue
      case .plainText, .failed, .ended: return false
      }
    }
  }

  /// Repeats a step of the session until it is over, waiting for the socket in between.
  /// - Returns: nil if it took too long.
  private func repeated(
    within milliseconds: Int, _ step: (TLSSession) -> TLSSession.Transfer
  ) -> TLSSession.Transfer? {
    while true {
      let transfer = lock.withLock { _ in Libcrypto.using { step(session) } }
      switch transfer {
      case .bytes, .end, .broken: return transfer
      case .needsInput: guard waits(for: .reading, milliseconds) else { return nil }
      case .needsSpace: guard waits(for: .writing, milliseconds) else { return nil }
      case .budgetSpent: continue
      }
    }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, within milliseconds: Int) -> Int? {
    switch repeated(within: milliseconds, { $0.receive(into: buffer) }) {
    case .bytes(let count): return count
    case .broken:
      broken.withLock { $0 = true }
      return 0
    case .end: return 0
    default: return nil
    }
  }

  var isBroken: Bool { broken.withLock { $0 } }

  func write(_ bytes: UnsafeRawBufferPointer, within milliseconds: Int) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let piece = rest
      let transfer = repeated(within: milliseconds) { $0.send(piece, more: false) }
      guard case .bytes(let count) = transfer else { return false }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
    return true
  }

  private func waits(for direction: SocketWait, _ milliseconds: Int) -> Bool {
    Kernel.wait(socket.raw, for: direction, milliseconds: milliseconds)
  }

  var isGone: Bool { socket.isGone }
  func finishWriting() { lock.withLock { _ in Libcrypto.using { session.sendCloseNotify() } } }
  func close() { socket.close() }
  func reset() { socket.reset() }
}
