import HTTP
import Linux
import Testing

@Suite struct UploadTests {
  private let body = TestHandler.pattern(5_000_000)
  private var wanted: String { "\(body.count) \(body.reduce(UInt64(0)) { $0 &+ UInt64($1) })" }

  private func chunked(_ bytes: [UInt8], size: Int) -> [UInt8] {
    var coded: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      let piece = bytes[start..<min(start + size, bytes.count)]
      coded += Array("\(String(piece.count, radix: 16));x=y\r\n".utf8) + piece + [0x0D, 0x0A]
    }
    return coded + Array("0\r\nTrailer: t\r\n\r\n".utf8)
  }

  @Test(arguments: ["/count", "/drip"]) func largeBodyOfKnownLength(_ path: String) throws {
    let server = try TestServer()
    let client = server.client()
    client.send("PUT \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.count)\r\n\r\n")
    client.send(body)
    client.send("GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.answer()?.text == wanted)
    #expect(client.answer()?.text == "/next")
  }

  @Test(arguments: [("/count", 1_000_000), ("/count", 70_001), ("/count", 997), ("/drip", 65_536)])
  func largeChunkedBody(_ path: String, _ size: Int) throws {
    let server = try TestServer()
    let client = server.client()
    client.send("PUT \(path) HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
    client.send(chunked(body, size: size))
    client.send("GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.answer()?.text == wanted)
    #expect(client.answer()?.text == "/next")
  }

  /// Chunks that fill the receiver's buffer to the last byte but one, with long extensions.
  @Test func chunksWithLongExtensions() throws {
    let server = try TestServer()
    let client = server.client()
    client.send("PUT /count HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
    let extensions = ";" + String(repeating: "x", count: 8_000)
    for _ in 0..<20 {
      client.send("ffff\r\n" + String(repeating: "a", count: 65_535) + "\r\n1\(extensions)\r\nb\r\n")
    }
    client.send("0\(extensions)\r\n\r\nGET /next HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.answer()?.text == "\(20 * 65_536) \(20 * (65_535 * 97 + 98))")
    #expect(client.answer()?.text == "/next")
  }

  @Test func concurrentUploads() throws {
    let server = try TestServer { $0.loops = 2 }
    let clients = (0..<12).map { _ in server.client() }
    let size = 100_000
    let piece = [UInt8](body[..<size])
    for client in clients {
      client.send("PUT /count HTTP/1.1\r\nHost: h\r\nContent-Length: \(size * 10)\r\n\r\n")
    }
    for _ in 0..<10 { for client in clients { client.send(piece) } }
    let sum = piece.reduce(UInt64(0)) { $0 &+ UInt64($1) } * 10
    for client in clients { #expect(client.answer()?.text == "\(size * 10) \(sum)") }
  }

  @Test func continueIsSentBeforeTheBody() throws {
    let server = try TestServer()
    let client = server.client()
    client.send("PUT /count HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    #expect(client.line() == "HTTP/1.1 100 Continue")
    #expect(client.line() == "")
    client.send([1, 2, 3])
    #expect(client.answer()?.text == "3 6")
    client.send("GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.answer()?.text == "/next")
  }

  @Test(arguments: ["Content-Length: 3", "Transfer-Encoding: chunked"])
  func refusedRequestGetsNoContinue(_ framing: String) throws {
    let server = try TestServer()
    let client = server.client()
    client.send("PUT /refused HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\(framing)\r\n\r\n")
    let answer = try #require(client.answer())
    #expect(answer.status == 422 && answer.closes)
    #expect(client.isClosedByServer())
    #expect(server.events.all == ["finish"])
  }

  /// There is no body to wait for.
  @Test(arguments: ["Content-Length: 0", "X: y"]) func continueIsNotSentWithoutABody(_ framing: String) throws
  {
    let server = try TestServer()
    let client = server.client()
    client.send("PUT /count HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\(framing)\r\n\r\n")
    #expect(client.answer()?.text == "0 0")
    client.send("GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.answer()?.text == "/next")
  }

  @Test func bodySentWithoutWaitingForContinueArrives() throws {
    let server = try TestServer()
    let client = server.client()
    client.send(
      "PUT /count HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n")
    client.send("2\r\nab\r\n0\r\n\r\n")
    #expect(client.line() == "HTTP/1.1 100 Continue" && client.line() == "")
    #expect(client.answer()?.text == "2 195")
  }

  @Test func bodyOverTheLimitIsRefusedBeforeItIsSent() throws {
    let server = try TestServer()
    let client = server.client()
    client.send("PUT /collect HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 999\r\n\r\n")
    #expect(client.answer()?.status == 413)
  }

  @Test func answerArrivesThoughARefusedBodyIsSent() throws {
    let server = try TestServer()
    let client = server.client()
    client.send("PUT /collect HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.count)\r\n\r\n")
    client.send(body)
    #expect(client.answer()?.status == 413)
  }

  @Test func receiverCanStopEarly() throws {
    let server = try TestServer()
    let client = server.client()
    client.send("PUT /stop HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n")
    client.send([UInt8](repeating: 1, count: 1000))
    let answer = try #require(client.answer())
    #expect(answer.status == 422 && answer.text == "stopped" && answer.closes)
    #expect(server.events.all == ["first", "finish"])
  }

  @Test(arguments: [true, false]) func disconnectedClientAbortsItsUpload(_ orderly: Bool) throws {
    let server = try TestServer()
    let client = server.client()
    client.send("PUT /count HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n")
    client.send([UInt8](repeating: 1, count: 1000))
    #expect(server.events.has("first"))
    if orderly { client.finishSending() } else { client.reset() }
    #expect(server.events.has("abort"))
    #expect(!server.events.all.contains("finish"))
  }

  @Test func chunkedBodyOverTheLimitIsAborted() throws {
    let server = try TestServer()
    let client = server.client()
    client.send("PUT /count HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
    #expect(server.events.has("first"))
    client.send("FFFFFF0\r\n")
    for _ in 0..<17 { client.send([UInt8](repeating: 0, count: 1 << 20)) }
    client.send([UInt8](repeating: 0, count: 4 << 20))
    #expect(client.answer()?.status == 413)
    #expect(server.events.has("abort"))
  }

  @Test func bufferingIsBoundedWhileTheWorkerIsSlow() throws {
    let server = try TestServer { $0.workers = 1 }
    let blocker = server.client()
    blocker.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(server.events.has("slow"))
    let client = server.client()
    client.send("PUT /count HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.count)\r\n\r\n")
    let before = server.server.metrics.bytesIn
    client.send([UInt8](body[..<2_000_000]))
    // At most two chunks are held, besides the kernel's buffers.
    #expect(server.server.metrics.bytesIn - before < 600_000)
    client.send([UInt8](body[2_000_000...]))
    #expect(client.answer()?.text == wanted)
  }
}
