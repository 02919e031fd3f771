import Glibc
import HTTP
import System
import Testing

@testable import Server

@Suite struct ObservabilityTests {
  @Test func counters() throws {
    let server = try TestServer()
    let client = server.client()
    for path in ["/", "/%zz"] { client.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n") }
    #expect(client.answer()?.status == 200 && client.answer()?.status == 400)
    #expect(client.isClosedByServer())
    let metrics = server.server.metrics
    #expect(metrics.answers == [0, 0, 1, 0, 1, 0])
    #expect(metrics.accepted == 1 && metrics.bytesIn >= 43 && metrics.bytesOut > 200)
    #expect(metrics.latency.reduce(0, +) == 2)
    let text = metrics.prometheusText
    #expect(text.contains("http_requests_total{class=\"2xx\"} 1\n"))
    #expect(text.contains("http_request_duration_seconds_count 2\n"))
    #expect(text.contains("http_request_duration_seconds_bucket{le=\"+Inf\"} 2\n"))
  }

  @Test(arguments: [AccessLog.Format.common, .json]) func accessLines(_ format: AccessLog.Format) throws {
    let file = TestFile.unnamed()
    let log = try AccessLog(Descriptor(owning: dup(file.raw)), format: format) { _ in }
    let server = try TestServer { $0.accessLog = log }
    let client = server.client()
    client.send("GET /a/../b?q=\"1 HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.answer()?.status == 400)
    let other = server.client()
    other.send("GET /a/../b?q=1 HTTP/1.1\r\nHost: h\r\nUser-Agent: \"x\"\r\n\r\n")
    other.send("HEAD /later?x HTTP/1.0\r\n\r\n")
    #expect(other.answer()?.text == "/b?q=1")
    #expect(other.answer(toHead: true)?.status == 200)
    server.server.stop(graceSeconds: 0)
    log.close()
    let lines = Self.lines(of: file)
    try #require(lines.count == 3)
    switch format {
    case .common:
      #expect(lines[1].hasPrefix("127.0.0.1 - - ["))
      #expect(lines[1].hasSuffix("] \"GET /a/../b?q=1 HTTP/1.1\" 200 6"))
      #expect(lines.last?.hasSuffix("\"HEAD /later?x HTTP/1.0\" 200 0") == true)
    case .json:
      #expect(lines[1].contains("\"target\":\"/a/../b?q=1\",\"status\":200,\"bytes\":6,"))
      #expect(lines[1].hasSuffix("\"agent\":\"\\\"x\\\"\"}"))
    }
  }

  @Test(arguments: [AccessLog.Format.common, .json]) func accessLinesContainNoToken(
    _ format: AccessLog.Format
  )
    throws
  {
    let file = TestFile.unnamed()
    let log = try AccessLog(Descriptor(owning: dup(file.raw)), format: format) { _ in }
    let server = try TestServer { $0.accessLog = log }
    let client = server.client()
    let secret = String(repeating: "aZ-_", count: 10) + "abc"
    client.send(
      "GET /a?t=xcache_0123456789ab_\(secret)&u=XCACHE%5F0123456789ab%5f\(secret) HTTP/1.1\r\nHost: h\r\n\r\n"
    )
    #expect(client.answer()?.status == 200)
    server.server.stop(graceSeconds: 0)
    log.close()
    let line = Self.lines(of: file).first ?? ""
    #expect(
      line.contains("/a?t=xcache_0123456789ab_...&u=xcache_0123456789ab_...") && !line.contains(secret),
      "\(line)")
  }

  /// A provider's answer brings a code in its query, which may be good for a moment.
  @Test(arguments: [
    ("/auth/callback?code=s3cret&state=s3cret", "/auth/callback?..."),
    ("http://h/auth/callback?code=s3cret", "http://h/auth/callback?..."),
    ("//auth/./callback?code=s3cret?/", "//auth/./callback?..."),
    ("/auth/login", "/auth/login"),
    ("/a?b=/auth/c?d", "/a?b=/auth/c?d"),
  ]) func accessLinesContainNoCode(_ sent: String, _ shown: String) {
    #expect(String(decoding: LoggedTarget.shown(Array(sent.utf8)), as: UTF8.self) == shown)
  }

  /// What is sent, and the quoted part of the access line with what follows it.
  static let refused: [(String, String)] = [
    ("\u{1}\u{2}\r\n\r\n", "\"-\" 400"),
    ("GET /\(String(repeating: "a", count: 9_000)) HTTP/1.1\r\n", "\"-\" 414"),
    ("GET / HTTP/2.0\r\n\r\n", "\"-\" 505"),
    ("GET /%zz\"\u{7f} HTTP/1.1\r\n\r\n", "\"-\" 400"),
    ("GET /%zz\" HTTP/1.1\r\n\r\n", "\"GET /%zz\\\" HTTP/1.1\" 400"),
    ("GET /a HTTP/1.1\r\n\r\n", "\"GET /a HTTP/1.1\" 400"),
    ("GET /b HTTP/1.1\r\nHost: h\r\n" + String(repeating: "A: b\r\n", count: 200), "\"GET /b HTTP/1.1\" 431"),
    ("BREW /c HTTP/1.1\r\nHost: h\r\n\r\n", "\"- /c HTTP/1.1\" 501"),
    ("HEAD /d HTTP/1.0\r\nUser-Agent: x", "\"HEAD /d HTTP/1.0\" 408"),
    ("GET /e", "\"-\" 408"),
    ("PUT /count HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc", "\"PUT /count HTTP/1.1\" 408"),
    (
      "PUT /count HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
      "\"PUT /count HTTP/1.1\" 400"
    ),
    (
      "PUT /count HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n", "\"PUT /count HTTP/1.1\" 413"
    ),
  ]

  @Test(arguments: refused) func refusedRequestIsLogged(_ sent: String, _ line: String) throws {
    let file = TestFile.unnamed()
    let log = try AccessLog(Descriptor(owning: dup(file.raw)), format: .common) { _ in }
    let server = try TestServer {
      $0.accessLog = log
      $0.timeouts.head = 200_000_000
      $0.timeouts.body = 200_000_000
    }
    let client = server.client()
    client.send(sent)
    let answer = try #require(client.answer(toHead: sent.hasPrefix("HEAD")))
    server.server.stop(graceSeconds: 0)
    log.close()
    let lines = Self.lines(of: file)
    try #require(lines.count == 1)
    #expect(lines[0].hasPrefix("127.0.0.1 - - ["))
    #expect(lines[0].hasSuffix("] \(line) \(answer.body.count)"))
  }

  @Test(TestServer.answersRefused) func unknownValuesAreDashesInJSON() throws {
    let file = TestFile.unnamed()
    let log = try AccessLog(Descriptor(owning: dup(file.raw)), format: .json) { _ in }
    let server = try TestServer {
      $0.accessLog = log
      $0.limits.connections = 1
    }
    let client = server.client()
    client.send("nothing\r\n\r\n")
    #expect(client.line()?.contains(" 400 ") == true)
    let refused = server.client()
    #expect(refused.answer()?.status == 503)
    server.server.stop(graceSeconds: 0)
    log.close()
    let lines = Self.lines(of: file)
    #expect(lines.count == 2)
    for (line, status) in zip(lines, [400, 503]) {
      #expect(line.contains("\"method\":\"-\",\"target\":\"-\",\"status\":\(status),"))
    }
    // The refusal's latency is counted from the accept, not from the machine's start.
    #expect(server.server.metrics.latencySum < 5_000_000_000)
  }

  @Test func latencyEndsWithTheLastByte() throws {
    let server = try TestServer()
    let client = server.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /huge HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.answer()?.text == "/")
    Clock.sleep(for: .milliseconds(300))
    // The first answer is counted; the second one waits for its reader.
    #expect(server.server.metrics.answers[2] == 1)
    #expect(client.answer()?.body.count == 20_000_000)
    for _ in 0..<100 where server.server.metrics.answers[2] < 2 { Clock.sleep(for: .milliseconds(10)) }
    #expect(server.server.metrics.answers[2] == 2)
    #expect(server.server.metrics.latencySum > 250_000_000)
  }

  @Test(arguments: ["", "GET /b HTTP/1.1\r\nHost: h\r\n\r\n"])
  func lineHasTheNumberOfSentBytes(pipelined: String) throws {
    let file = TestFile.unnamed()
    let log = try AccessLog(Descriptor(owning: dup(file.raw)), format: .common) { _ in }
    let server = try TestServer { $0.accessLog = log }
    var client: TestClient? = server.client()
    client?.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n" + pipelined + "GET /huge HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client?.answer()?.text == "/a")
    Clock.sleep(for: .milliseconds(200))
    let sent = server.server.metrics.bytesOut
    client = nil
    for _ in 0..<1_000 where server.server.metrics.open > 0 { Clock.sleep(for: .milliseconds(10)) }
    #expect(server.server.metrics.answers[2] == (pipelined.isEmpty ? 2 : 3))
    server.server.stop(graceSeconds: 0)
    log.close()
    let lines = Self.lines(of: file)
    #expect(lines.first?.hasSuffix("\"GET /a HTTP/1.1\" 200 2") == true)
    let words = try #require(lines.last?.split(separator: " "))
    let bytes = try #require(UInt64(words.last ?? ""))
    // Everything that was sent except the heads.
    #expect(lines.last?.contains("\"GET /huge HTTP/1.1\" 200 ") == true)
    #expect(bytes < sent && bytes > sent - 1_000)
  }

  @Test("A new log file continues after the old one; replaced files are closed")
  func anotherFile() throws {
    let old = TestFile.unnamed()
    let new = TestFile.unnamed()
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let reader = Descriptor(owning: ends[0])
    let log = try AccessLog(Descriptor(owning: dup(old.raw)), format: .common) { _ in }
    log.write(Array("first\n".utf8), count: 1)
    log.reopen(in: Descriptor(owning: ends[1]))
    log.reopen(in: Descriptor(owning: dup(new.raw)))
    log.write(Array("second\n".utf8), count: 1)
    log.close()
    var piped = [UInt8](repeating: 0, count: 100)
    let count = read(reader.raw, &piped, piped.count)
    #expect(count == 0, "the pipe's other end is closed")
    #expect(Self.lines(of: old) == ["first"] && Self.lines(of: new) == ["second"])
  }

  @Test(
    "A stalled reader blocks neither writers nor closing, and lost lines are counted"
  )
  func stuckReader() throws {
    // The abandoned writer thread writes to a pipe without a reader.
    Signals.ignorePipe()
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let reader = Descriptor(owning: ends[0])
    let log = try AccessLog(Descriptor(owning: ends[1]), format: .common, closeTimeout: .milliseconds(300)) {
      _ in
    }
    let line = Array((String(repeating: "x", count: 99) + "\n").utf8)
    // A pipe holds 64 KB, and 16 MB are buffered.
    let lines = Array(repeatElement(line, count: 1000).joined())
    for _ in 0..<400 { log.write(lines, count: 1000) }
    let dropped = Int(log.dropped)
    #expect(dropped > 0)
    let left = log.close()
    #expect(left > 0 && dropped + left == 400_000 && log.dropped == 400_000, "\(dropped) + \(left)")
    #expect(log.close() == 0)
    // The abandoned writer thread ends with its reader.
    _ = consume reader
  }

  private static func lines(of file: borrowing Descriptor) -> [String] {
    var text = [UInt8](repeating: 0, count: 16_384)
    let count = pread(file.raw, &text, text.count, 0)
    return String(decoding: text[..<max(count, 0)], as: UTF8.self).split(separator: "\n").map(String.init)
  }
}
