import Glibc
import System
import Testing
import TLS
import TLSPeer

/// Both sides of a session: the proxy's inside an app, and its client's.
@Suite struct ClientTests {
  private let certificates: Certificates

  init() throws { certificates = try Certificates() }

  /// Takes steps until both handshakes are over, and returns what each came to.
  private func shakeHands(
    _ client: TLSSession, _ server: TLSSession
  ) -> (client: TLSSession.Handshake, server: TLSSession.Handshake) {
    var steps = (client: TLSSession.Handshake.needsInput, server: TLSSession.Handshake.needsInput)
    for _ in 0..<20 {
      if steps.client == .needsInput { steps.client = client.handshake() }
      if steps.server == .needsInput { steps.server = server.handshake() }
    }
    return steps
  }

  @Test(
    "A client believes the certificates that it trusts, for their host alone",
    arguments: [("m.test", true), ("other.test", false), ("127.0.0.1", false)])
  func trust(_ host: String, _ isTrusted: Bool) throws {
    let own = try #require(SelfSignedCertificate(for: "DNS:m.test"))
    let authorities = "\(certificates.folder)/own.pem"
    try Kernel.write(
      Array(own.pem.utf8).span.bytes, to: try Kernel.open(authorities, [.write, .create, .truncate]))
    let context = try #require(TLSContext(trusting: authorities))
    let sockets = try Sockets()
    let server = try #require(own.context.session(on: sockets.server))
    let client = try #require(context.session(on: sockets.client, to: host))
    let steps = shakeHands(client, server)
    #expect((steps.client == .done(isResumed: false)) == isTrusted)
    if !isTrusted { #expect(steps.client == .failed) }
  }

  @Test("A file without certificates makes no client")
  func noAuthorities() {
    #expect(TLSContext(trusting: "\(certificates.folder)/none.pem") == nil)
  }

  @Test("Bytes that were read before the session began come first", arguments: [1, 5, 100, .max])
  func early(_ count: Int) throws {
    let own = try #require(SelfSignedCertificate(for: "DNS:m.test"))
    let sockets = try Sockets()
    let client = TLSPeer(sockets.client, TLSPeer.Options { $0.host = "m.test" })
    #expect(client.handshake() == .wouldBlock)
    var early = [UInt8](repeating: 0, count: min(count, 65_536))
    let taken = read(sockets.server, &early, early.count)
    let server = try #require(
      own.context.session(on: sockets.server, after: Array(early.prefix(max(0, taken)))))
    var step = TLSSession.Handshake.needsInput
    for _ in 0..<20 where step == .needsInput {
      step = server.handshake()
      _ = client.handshake()
    }
    #expect(step == .done(isResumed: false))
    #expect(client.send(Array("hello".utf8)) == .bytes(5))
    var buffer = [UInt8](repeating: 0, count: 100)
    #expect(buffer.withUnsafeMutableBytes { server.receive(into: $0) } == .bytes(5))
  }

  /// Two sockets that don't block.
  private final class Sockets {
    let client: Int32
    let server: Int32

    init() throws {
      var sockets: [Int32] = [0, 0]
      guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &sockets) == 0
      else { throw SystemError("socketpair", code: Errno(rawValue: errno)) }
      (client, server) = (sockets[0], sockets[1])
    }

    deinit {
      close(client)
      close(server)
    }
  }
}
