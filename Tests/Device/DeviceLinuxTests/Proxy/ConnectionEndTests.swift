import DeviceTestSupport
import Glibc
import Linux
import System
import Testing
import TestSupport
import TLSPeer
import XCacheDevice

@testable import DeviceLinux
@testable import XCacheRuntime

/// The ends and beginnings of connections, over real sockets.
@Suite struct ConnectionEndTests {
  enum Ending: CaseIterable, Sendable {
    case announced
    /// Without the closing alert of TLS; TCP knows none.
    case silent
    case reset
    /// Within a TLS record, which libcurl takes for a normal end.
    case cut
  }

  private func transports(_ authorities: String) -> [any PageTransport] {
    [
      StreamPageTransport(LinuxProxyNetwork(authorities: authorities)),
      CurlPageTransport(30, 120, authorities: authorities),
    ]
  }

  /// An answer that ends with its connection is complete if the connection is closed, also silently, and broken if it
  /// is reset.
  @Test(
    arguments: Ending.allCases.map { ($0, true) } + [(.announced, false), (.silent, false), (.reset, false)])
  func answersWithoutALengthEndWithTheConnection(_ ending: Ending, isSecure: Bool) async throws {
    let scratch = try Scratch()
    let own = LinuxProxyNetwork()
    let authorities = "\(scratch.path)/own.pem"
    try Scratch.write(try #require(own.certificate(for: "127.0.0.1")), to: authorities)
    for transport in transports(authorities) {
      let body = Monitor<[UInt8]>([])
      let port = try Self.serve(isSecure ? own : nil, ending) {
        _ = body.waiting(for: .seconds(60)) { $0.count == 4 ? () : nil }
      }
      let url = "\(isSecure ? "https" : "http")://127.0.0.1:\(port)/"
      var failure: TransportError?
      do throws(TransportError) {
        try await PageFetcher(transport, cookies: FakeCookies([])).fetch(NetworkRequest(url)) { _ in
          true
        } receive: { bytes in
          body.broadcasting { body in bytes.withUnsafeBytes { body.append(contentsOf: $0) } }
          return true
        }
      } catch {
        failure = error
      }
      #expect(body.withLock { $0 } == Array("half".utf8), "\(transport)")
      if transport is CurlPageTransport, ending == .cut { continue }
      let isBroken = ending == .reset || ending == .cut
      #expect(failure?.kind == (isBroken ? .broken : nil), "\(transport): \(failure as Any)")
    }
  }

  /// Starts a server with one answer without a length, and returns its port.
  /// - Parameters:
  ///   - tls: the network whose TLS the server uses; nil: none.
  ///   - read: waits until the client has the answer's body, which a reset could overtake.
  private static func serve(
    _ tls: LinuxProxyNetwork?, _ ending: Ending, until read: @escaping @Sendable () -> Void
  ) throws -> UInt16 {
    try listen { answer($0, tls, ending, read) }
  }

  private static func answer(
    _ socket: SocketStream, _ tls: LinuxProxyNetwork?, _ ending: Ending, _ read: () -> Void
  ) {
    var connection: (any ProxyStream)? = socket
    if let tls { connection = tls.secure(socket, after: [], as: "127.0.0.1") }
    guard let stream = connection else { return }
    var head: [UInt8] = []
    var byte: UInt8 = 0
    while !head.suffix(4).elementsEqual("\r\n\r\n".utf8),
      withUnsafeMutableBytes(of: &byte, { stream.read(into: $0, within: 60_000) }) == 1
    { head.append(byte) }
    _ = stream.write(Array("HTTP/1.1 200 OK\r\n\r\nhalf".utf8))
    read()
    switch ending {
    case .announced:
      stream.finishWriting()
      stream.close()
    case .silent: stream.close()
    case .reset: stream.reset()
    case .cut:
      _ = socket.write([0x17, 3, 3, 0, 64] + [UInt8](repeating: 1, count: 10))
      stream.close()
    }
  }

  /// The engine may send TLS bytes together with its request for the connection.
  @Test(arguments: [0, 1, 5, 6, 100, .max]) func tlsMayBeginEarly(_ count: Int) async throws {
    var ends: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    let (engine, own) = (ends[0], ends[1])
    let flags = fcntl(own, F_GETFL)
    _ = fcntl(own, F_SETFL, flags | O_NONBLOCK)
    _ = try OSThread(name: "engine") {
      let descriptor = Descriptor(owning: engine)
      let peer = TLSPeer(descriptor.raw, .init { $0.host = "m.test" })
      guard peer.handshake() == .done, peer.send(Array("hello".utf8)) == .bytes(5) else { return }
      var buffer = [UInt8](repeating: 0, count: 5)
      guard peer.receive(into: &buffer) == .bytes(5) else { return }
      _ = peer.send(buffer)
    }
    let socket = SocketStream(Descriptor(owning: own))
    let heard = await MemoryStream.onOwnThread { () -> [String] in
      var early = [UInt8](repeating: 0, count: min(count, 65_536))
      let got =
        early.isEmpty ? 0 : early.withUnsafeMutableBytes { socket.read(into: $0, within: 60_000) } ?? 0
      guard let stream = LinuxProxyNetwork().secure(socket, after: Array(early.prefix(got)), as: "m.test")
      else {
        return ["no TLS"]
      }
      func read() -> String {
        var buffer = [UInt8](repeating: 0, count: 100)
        let count = buffer.withUnsafeMutableBytes { stream.read(into: $0, within: 60_000) } ?? 0
        return String(decoding: buffer.prefix(count), as: UTF8.self)
      }
      let first = read()
      _ = stream.write(Array("world".utf8))
      return [first, read()]
    }
    #expect(heard == ["hello", "world"])
  }

  /// A reset is forwarded as a reset, after all bytes before it, however slowly they are read.
  @Test(arguments: [false, true]) func tunnelsForwardResets(_ isReset: Bool) async throws {
    let size = 512 << 10
    let isRead = Monitor(false)
    let port = try Self.listen { server in
      _ = server.write([UInt8](repeating: 1, count: size))
      _ = isRead.waiting(for: .seconds(60)) { $0 ? () : nil }
      if isReset { server.reset() } else { server.close() }
    }
    let network = LinuxProxyNetwork()
    let own = try Self.listen { engine in
      let server = try? network.connect(
        to: "127.0.0.1", port: Int(port), isSecure: false, isCancelled: { false })
      if let server { ProxyTunnel.join(engine, server) }
    }
    let (count, isBroken) = try await MemoryStream.onOwnThread {
      Result { () throws(TransportError) in
        let engine = try network.connect(
          to: "127.0.0.1", port: Int(own), isSecure: false, isCancelled: { false })
        var buffer = [UInt8](repeating: 0, count: 4_096)
        var count = 0
        while let read = buffer.withUnsafeMutableBytes({ engine.read(into: $0, within: 60_000) }), read > 0 {
          count += read
          // By now the rest is under way.
          if count > size / 2 { isRead.broadcasting { $0 = true } }
        }
        return (count, engine.isBroken)
      }
    }.get()
    #expect(count == size && isBroken == isReset)
  }

  /// A server that closes during the handshake has shown no certificate.
  @Test(arguments: [[], [0x15, 3, 3, 0, 2, 1, 0]] as [[UInt8]])
  func connectionsClosedDuringTheHandshakeFail(_ said: [UInt8]) async throws {
    let port = try Self.listen { stream in
      var hello = [UInt8](repeating: 0, count: 65_536)
      _ = hello.withUnsafeMutableBytes { stream.read(into: $0, within: 60_000) }
      _ = stream.write(said)
      stream.finishWriting()
      // Until the client closes.
      _ = hello.withUnsafeMutableBytes { stream.read(into: $0, within: 60_000) }
    }
    let isConnected = await MemoryStream.onOwnThread {
      (try? LinuxProxyNetwork().connect(
        to: "127.0.0.1", port: Int(port), isSecure: true, isCancelled: { false })) != nil
    }
    #expect(!isConnected)
  }

  /// Starts a server for one connection, and returns its port.
  private static func listen(_ serve: @escaping @Sendable (SocketStream) -> Void) throws -> UInt16 {
    let listening = try Kernel.listen(SocketAddress(.loopback, port: 0), backlog: 8)
    let port = try Kernel.localAddress(listening.raw).port
    let number = listening.release()
    _ = try OSThread(name: "server") {
      let listener = Descriptor(owning: number)
      guard Kernel.wait(listener.raw, for: .reading, milliseconds: 60_000) else { return }
      switch Kernel.accept(listener.raw) {
      case .connection(let descriptor, _): serve(SocketStream(descriptor))
      default: break
      }
    }
    return port
  }
}
