import Glibc
import HTTP
import Platform
import Server
import Testing

@Suite struct WatchingTests {
  @Test func countersTellWhatHappened() throws {
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
    let file = TestFile.nameless()
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
    var text = [UInt8](repeating: 0, count: 4096)
    let count = pread(file.raw, &text, text.count, 0)
    let lines = String(decoding: text[..<max(count, 0)], as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 2)
    switch format {
    case .common:
      #expect(lines.first?.hasPrefix("127.0.0.1 - - [") == true)
      #expect(lines.first?.hasSuffix("] \"GET /a/../b?q=1 HTTP/1.1\" 200 6") == true)
      #expect(lines.last?.hasSuffix("\"HEAD /later?x HTTP/1.0\" 200 0") == true)
    case .json:
      #expect(lines.first?.contains("\"target\":\"/a/../b?q=1\",\"status\":200,\"bytes\":6,") == true)
      #expect(lines.first?.hasSuffix("\"agent\":\"\\\"x\\\"\"}") == true)
    }
  }
}
