import Glibc
import System
import TLS
import TLSPeer

/// Client and server over two sockets that don't block, driven in turns by one thread.
final class Pair {
  let client: TLSPeer
  let server: TLSSession
  /// The client's socket, for what no client says.
  let wire: Int32
  private let serverSocket: Int32
  /// What the client's last step of the handshake came to.
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

  /// Takes steps until the server's handshake is over, and gives what came of it.
  func shakeHands() -> TLSSession.Handshake {
    for _ in 0..<20 {
      clientStep = client.handshake()
      let step = server.handshake()
      guard step == .needsInput || step == .needsSpace else {
        // The client still has the server's last words to read.
        if clientStep == .wouldBlock { clientStep = client.handshake() }
        return step
      }
    }
    return .ended
  }

  /// What the server reads next, as text; nil where nothing is there.
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

  /// Bytes that no client says, straight to the server's socket.
  func sendRaw(_ bytes: [UInt8]) { _ = bytes.withUnsafeBytes { write(wire, $0.baseAddress, $0.count) } }
}
