import Glibc
import HTTP
import Linux
import Server
import System
import Testing
import TLSPeer

/// TLS, in addition to the other suites, which can run with it too (XCACHE_TEST_TLS=1).
@Suite struct TLSTests {
  private func server(_ configure: (inout ServerConfiguration) -> Void = { _ in }) throws -> TestServer {
    try TestServer(speaksTLS: true, configure)
  }

  private func client(_ server: TestServer, receiveBuffer: Int32? = nil) -> TestClient {
    TestClient(server.address, receiveBuffer: receiveBuffer, speaksTLS: true)
  }

  private func raw(_ server: TestServer) -> TestClient { TestClient(server.address, speaksTLS: false) }

  @Test("Pipelined requests over one connection")
  func exchange() throws {
    let server = try server()
    let client = client(server)
    for number in 0..<3 {
      client.send("GET /\(number) HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.answer()?.text == "/\(number)")
    }
    client.send(String(repeating: "GET /x HTTP/1.1\r\nHost: h\r\n\r\n", count: 500))
    for _ in 0..<500 { #expect(client.answer()?.text == "/x") }
    #expect(server.server.metrics.handshakes == 1)
  }

  @Test("A request in the same packet as the end of the client's handshake")
  func atOnce() throws {
    let server = try server()
    for _ in 0..<50 {
      let client = client(server)
      client.send("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
      #expect(client.answer()?.text == "/a")
      #expect(client.rest() == [])
      #expect(client.isOrderly)
    }
  }

  @Test(
    "Bodies in memory, in several pieces and in files, whole and ranges", arguments: [nil, Int32(8_192)])
  func bodies(_ receiveBuffer: Int32?) throws {
    let server = try server()
    let client = client(server, receiveBuffer: receiveBuffer)
    let file = TestHandler.pattern(3_000_000)
    client.send(
      "GET /file HTTP/1.1\r\nHost: h\r\n\r\nGET /pieces HTTP/1.1\r\nHost: h\r\n\r\n"
        + "GET /file HTTP/1.1\r\nHost: h\r\nRange: bytes=1000000-2000000\r\n\r\nGET /huge HTTP/1.1\r\nHost: h\r\n\r\n"
    )
    #expect(client.answer()?.body == file)
    #expect(client.answer()?.body.count == 1_000_002)
    #expect(client.answer()?.body == Array(file[1_000_000...2_000_000]))
    let large = TestHandler.pattern(1_000_000)
    #expect(client.answer()?.body == Array((0..<20).map { _ in large }.joined()))
  }

  @Test("A body of 20 MB with a slow reader")
  func upload() throws {
    let server = try server()
    let client = client(server)
    client.send("PUT /count HTTP/1.1\r\nHost: h\r\nContent-Length: 20000000\r\n\r\n")
    let part = [UInt8](repeating: 3, count: 1_000_000)
    for _ in 0..<20 { #expect(client.send(part)) }
    #expect(client.answer()?.text == "20000000 60000000")
  }

  @Test(
    "Plain HTTP gets an answer to use https; other text gets none",
    arguments: ["GET", "POST", "DELETE", "OPTIONS"])
  func plainText(_ method: String) throws {
    let server = try server()
    let client = raw(server)
    client.send("\(method) /secret HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n")
    client.send([UInt8](repeating: 0x61, count: 100_000))
    let answer = try #require(client.answer())
    #expect(answer.status == 400 && answer.text.contains("https://") && answer.closes)
    #expect(client.isClosedByServer())
    #expect(server.waitUntil { $0.failedHandshakes == 1 })
  }

  @Test("Invalid TLS closes only its own connection")
  func garbage() throws {
    let server = try server()
    let good = client(server)
    var random = SystemRandomNumberGenerator()
    for length in [1, 5, 6, 100, 20_000] {
      let bad = raw(server)
      bad.send([0] + (1..<max(length, 2)).map { _ in UInt8.random(in: 0...255, using: &random) })
      bad.finishSending()
      #expect(bad.rest() != nil)
    }
    // A hello that is announced and never sent; empty records; an alert.
    for bytes in [
      [0x16, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xfb], [0x17, 3, 3, 0, 0], [0x15, 3, 3, 0, 2, 2, 40],
    ] as [[UInt8]] {
      let bad = raw(server)
      bad.send(bytes)
      bad.finishSending()
      #expect(bad.rest() != nil)
    }
    // After a valid handshake, too.
    let late = client(server)
    _ = [0x17, 3, 3, 0, 32].map { UInt8($0) }.withUnsafeBytes {
      Glibc.send(late.socket, $0.baseAddress, 5, 0)
    }
    _ = [UInt8](repeating: 1, count: 32).withUnsafeBytes { Glibc.send(late.socket, $0.baseAddress, 32, 0) }
    #expect(late.rest() == [])
    good.send("GET /good HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(good.answer()?.text == "/good")
  }

  @Test("Clients that stall in the handshake are closed after the head's timeout, and delay no other client")
  func silence() throws {
    let server = try server { $0.timeouts.head = Timeouts.second / 2 }
    let silent = (0..<20).map { _ in raw(server) }
    for (index, client) in silent.enumerated() where index > 0 { client.send([0x16, 3, 1]) }
    let good = client(server)
    good.send("GET /good HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(good.answer()?.text == "/good")
    for client in silent { #expect(client.isClosedByServer()) }
    #expect(server.waitUntil { $0.timeouts == 20 && $0.failedHandshakes == 20 })
  }

  @Test("A client that doesn't read is closed, and so is one over the limit")
  func limits() throws {
    let server = try server {
      $0.timeouts.write = Timeouts.second / 2
      $0.limits.connections = 2
    }
    let slow = client(server, receiveBuffer: 8_192)
    slow.send("GET /huge HTTP/1.1\r\nHost: h\r\n\r\n")
    let other = client(server)
    let third = client(server)
    #expect(third.rest() == [])
    #expect(server.waitUntil { $0.refused == 1 })
    #expect(server.waitUntil { $0.timeouts == 1 })
    other.send("GET /good HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(other.answer()?.text == "/good")
  }

  @Test("A stopping server finishes answers in flight, and sends close_notify")
  func stopping() throws {
    let server = try server()
    let slow = client(server)
    let idle = client(server)
    slow.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(server.events.has("slow"))
    server.server.stop(graceSeconds: 5)
    #expect(slow.answer()?.text == "slow")
    #expect(slow.rest() == [] && slow.isOrderly)
    #expect(idle.rest() == [] && idle.isOrderly)
  }

  @Test("A flood of key updates delays no other client")
  func flood() throws {
    let server = try server()
    let bad = client(server)
    let good = client(server)
    var count = 0
    while count < 5_000, bad.tls?.updateKeys() == .done { count += 1 }
    good.send("GET /good HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(good.answer()?.text == "/good")
  }

  @Test("Connections leak no descriptors")
  func descriptors() throws {
    let server = try server()
    for _ in 0..<20 {
      let client = client(server)
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.answer()?.status == 200)
      raw(server).send("GET / HTTP/1.1\r\n\r\n")
      raw(server).send([0, 1, 2])
    }
    #expect(server.waitUntil { $0.open == 0 })
  }
}
