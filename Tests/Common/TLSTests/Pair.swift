import Glibc
import System
import TLS
import TLSPeer

/// Client and server on two non-blocking sockets, driven in turns by one thread.
final class Pair {
  let client: TLSPeer
  let server: TLSSession
  /// The client's socket, for bytes that no TLS client sends.
  let wire: Int32
  private let serverSocket: Int32
  /// The result of the client's last handshake step.
  private(set) var clientStep = TLSPeer.Step.wouldBlock

  init(_ acceptor: TLSAcceptor, _ options: TLSPeer.Options = TLSPeer.Options()) throws {
    var sockets: [Int32] = [0, 0]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &sockets) == 0
    else { throw SystemError("socketpair", code: Errno(rawValue: errno)) }
    (wire, serverSocket) = (sockets[0], sockets[1])
    guard let session = acceptor.session(on: sockets[1]) else {
      throw SystemError("SSL_new", code: .ioError)
    }
    server = session
    client = TLSPeer(wire, options)
  }

  deinit {
    close(wire)
    close(serverSocket)
  }

  /// Runs the handshake until the server's side is done; returns its result.
  func shakeHands() -> TLSSession.Handshake {
    for _ in 0..<20 {
      clientStep = client.handshake()
      let step = server.handshake()
      guard step == .needsInput || step == .needsSpace else {
        // The client has yet to read the server's last message.
        if clientStep == .wouldBlock { clientStep = client.handshake() }
        return step
      }
    }
    return .ended
  }

  /// What the server reads next, as text, or nil if there is nothing.
  func serverReads() -> String? {
    withBuffer { server.receive(into: $0) }
  }

  func clientReads(_ room: Int = 65_536) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: room)
    guard case .bytes(let count) = client.receive(into: &buffer) else { return nil }
    return [UInt8](buffer[..<count])
  }

  func withBuffer(_ read: (UnsafeMutableRawBufferPointer) -> TLSSession.Transfer) -> String? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    guard case .bytes(let count) = buffer.withUnsafeMutableBytes(read) else { return nil }
    return String(decoding: buffer[..<count], as: UTF8.self)
  }

  func serverReceives() -> TLSSession.Transfer {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    return buffer.withUnsafeMutableBytes { server.receive(into: $0) }
  }

  func serverSends(_ bytes: [UInt8], more: Bool = false) -> TLSSession.Transfer {
    bytes.withUnsafeBytes { server.send($0, more: more) }
  }

  /// Sends bytes directly to the server's socket.
  func sendRaw(_ bytes: [UInt8]) { _ = bytes.withUnsafeBytes { write(wire, $0.baseAddress, $0.count) } }
}
