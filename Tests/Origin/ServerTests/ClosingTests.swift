import HTTP
import Server
import System
import Testing

/// A connection closed by the server loses no answer (RFC 9112 §9.6): the rules of `ConnectionTests`, on real sockets.
@Suite struct ClosingTests {
  private static let millisecond: UInt64 = 1_000_000

  /// `size` bytes in chunks of 16,000.
  private func chunks(_ size: Int) -> String {
    String(repeating: "3e80\r\n\(String(repeating: "x", count: 16_000))\r\n", count: size / 16_000)
  }

  @Test(arguments: ["", "zz\r\n"]) func unreadChunkedBodyDoesNotTruncateTheAnswer(_ broken: String) throws {
    let server = try TestServer()
    let client = server.client()
    client.send("GET /huge HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
    client.send(broken + chunks(320_000))
    #expect(server.waitUntil { $0.bytesOut > 0 })
    #expect(client.answer()?.body.count == 20_000_000)
    #expect(client.isClosedByServer())
  }

  @Test func shortUnreadChunkedBodyIsSkipped() throws {
    let server = try TestServer()
    let client = server.client()
    client.send("POST /1 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks(32_000))
    client.send("0\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.answer()?.text == "/1")
    #expect(client.answer()?.text == "/2")
  }

  /// Requests whose answers exceed a client's small buffer, but not the kernel's.
  private func askMuch(_ client: TestClient) -> (path: String, count: Int) {
    let path = "/" + String(repeating: "x", count: 4_000)
    for _ in 0..<9 { client.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n") }
    return (path, 9)
  }

  /// The server closes before the client has received the last answer, and the client continues to send.
  @Test func lateRequestDoesNotTruncateTheLastAnswer() throws {
    let server = try TestServer { $0.limits.requestsPerConnection = 9 }
    let client = server.client(receiveBuffer: 4_096)
    let (path, count) = askMuch(client)
    #expect(server.waitUntil { $0.bytesOut > 36_000 })
    client.send("GET /late HTTP/1.1\r\nHost: h\r\n\r\n")
    for index in 1...count {
      let answer = try #require(client.answer())
      #expect(answer.text == path && answer.closes == (index == count))
    }
    #expect(client.isClosedByServer())
  }

  /// The connection times out while its answers are in transit; then the client sends more, and reads.
  @Test(arguments: ["POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n", "GET /half"])
  func timeoutDoesNotTruncateAnswers(last: String) throws {
    let server = try TestServer {
      $0.timeouts.head = 20 * Self.millisecond
      $0.timeouts.body = 20 * Self.millisecond
    }
    let client = server.client(receiveBuffer: 4_096)
    let (path, count) = askMuch(client)
    client.send(last)
    #expect(server.waitUntil { $0.timeouts == 1 })
    client.send("GET /late HTTP/1.1\r\nHost: h\r\n\r\n")
    for _ in 0..<count { #expect(client.answer()?.text == path) }
    if last.hasPrefix("POST") { #expect(client.answer()?.text == "/x") }
    if last == "GET /half" { #expect(client.answer()?.status == 408) }
    #expect(client.isClosedByServer())
  }

  /// Sends faster than one turn reads, so that the connection never becomes idle.
  @Test func endlessSenderIsClosed() throws {
    let server = try TestServer { $0.timeouts.linger = 100 * Self.millisecond }
    let client = server.client()
    client.send("nonsense\r\n\r\n")
    let flood = [UInt8](repeating: 0x61, count: 1 << 20)
    let start = Clock.monotonicNanoseconds()
    while client.send(flood), Clock.monotonicNanoseconds() - start < 8 * Timeouts.second {}
    #expect(Clock.monotonicNanoseconds() - start < 4 * Timeouts.second)
  }

  @Test func drainDoesNotWaitForEmptyLines() throws {
    let server = try TestServer()
    let client = server.client()
    let request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n\r\n"
    client.send(request)
    #expect(client.answer()?.text == "/")
    #expect(server.waitUntil { $0.bytesIn == UInt64(request.utf8.count) })
    let start = Clock.monotonicNanoseconds()
    server.server.stop(graceSeconds: 8)
    #expect(Clock.monotonicNanoseconds() - start < 4 * Timeouts.second)
  }

  @Test func noLingerAfterConnectionClose() throws {
    // Longer than `waitUntil` waits: a server that lingered would still have the connection.
    let server = try TestServer { $0.timeouts.linger = 60 * Timeouts.second }
    let client = server.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    #expect(client.answer()?.closes == true)
    // The client stays connected; the server counts a connection as closed after closing it.
    #expect(client.isClosedByServer() && server.waitUntil { $0.open == 0 })
  }

  @Test func drainEndsWhenAnswersAreDelivered() throws {
    let server = try TestServer { $0.timeouts.linger = 300 * Self.millisecond }
    let client = server.client()
    client.send("GET /huge HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.line() == "HTTP/1.1 200 OK")
    let start = Clock.monotonicNanoseconds()
    let stopper = try OSThread(name: "stopper") { [server = server.server] in server.stop(graceSeconds: 8) }
    // No new client is accepted once it has begun to stop.
    while server.client(seconds: 1).isConnected {}
    #expect((client.rest()?.count ?? 0) > 20_000_000)
    stopper.join()
    #expect(Clock.monotonicNanoseconds() - start < 4 * Timeouts.second)
  }

  @Test(
    arguments: [
      "HEAD / HTTP/1.1\r\n\r\n", "HEAD /%00 HTTP/1.1\r\nHost: h\r\n\r\n",
      "HEAD / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n",
      "HEAD / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", "HEAD / HTTP/1.1\r\nHost: h\r\n",
      "\r\nHEAD /\(String(repeating: "a", count: 9_000)) HTTP/1.1\r\n", "HEAD /\u{1} HTTP/1.1\r\n\r\n",
      "HEAD /h",
    ])
  func refusedHEADHasNoBody(_ request: String) throws {
    let server = try TestServer { $0.timeouts.head = 50 * Self.millisecond }
    let client = server.client()
    client.send(request)
    let answer = try #require(client.answer(toHead: true))
    #expect(answer.status >= 400 && answer["content-length"] != "0")
    #expect(client.isClosedByServer())
  }

  /// A deferred answer is abandoned when its client disconnects, and not before.
  @Test(arguments: [false, true]) func deferredAnswerIsAbandonedWithItsClient(halfOnly: Bool) throws {
    let server = try TestServer()
    var client: TestClient? = server.client()
    client?.send("GET /awaited HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(server.events.has("awaited") && !server.events.all.contains("given up"))
    if halfOnly { client?.finishSending() } else { client = nil }
    #expect(server.events.has("given up"))
    if halfOnly { #expect(client?.answer()?.text == "given up") }
  }
}
