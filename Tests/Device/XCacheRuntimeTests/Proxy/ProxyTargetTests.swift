import DeviceTestSupport
import System
import Testing
import XCacheDevice

@testable import XCacheRuntime

/// Ambiguous targets and hosts, and expensive requests: none leads to another server, and each connection gets an
/// answer or is closed.
@Suite struct ProxyTargetTests {
  let bench: RuntimeBench
  let network = FakeProxyNetwork()
  let transport = FakePageTransport()

  init() throws { bench = try RuntimeBench() }

  private func proxy() async throws -> PageProxy {
    let runtime = try await bench.runtime()
    #expect(await runtime.handle(.launch)?.kind == .whole)
    let proxy = PageProxy(runtime, transport: transport, network: network)
    proxy.addTrustedHost("m.test")
    return proxy
  }

  /// Everything that is received on a connection to `site`, until it ends or nothing arrives for `milliseconds`.
  private func answers(
    to text: String, _ site: String = "m.test:443", quiet milliseconds: Int = 30_000
  ) async throws -> String {
    let proxy = try await proxy()
    let (engine, own) = MemoryStream.pair()
    _ = try OSThread(name: "proxied") { proxy.serve(own) }
    let password = Base64.encode(Array("xcache:\(proxy.password)".utf8))
    engine.say(
      "CONNECT \(site) HTTP/1.1\r\nHost: \(site)\r\nProxy-Authorization: Basic \(password)\r\n\r\n\(text)")
    defer { engine.close() }
    return await MemoryStream.onOwnThread {
      var heard: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 4096)
      while let count = buffer.withUnsafeMutableBytes({
        engine.read(into: $0, within: heard.isEmpty ? 30_000 : milliseconds)
      }),
        count > 0
      { heard += buffer[..<count] }
      return String(decoding: heard, as: UTF8.self)
    }
  }

  private static let established = "HTTP/1.1 200 OK\r\n\r\n"

  /// Inside a connection with the certificate of m.test.
  @Test(arguments: [
    "GET https://bank.test/index.html HTTP/1.1", "GET http://bank.test/index.html HTTP/1.1",
    "GET @bank.test/ HTTP/1.1",
    "GET :81/index.html HTTP/1.1", "GET .bank.test/ HTTP/1.1", "GET //bank.test/index.html HTTP/1.1",
    "GET /\\bank.test/index.html HTTP/1.1", "GET /..//../bank.test/ HTTP/1.1",
    "GET /index.html#@bank.test/ HTTP/1.1",
    "GET /index.html?@bank.test/ HTTP/1.1", "CONNECT bank.test:443 HTTP/1.1", "OPTIONS * HTTP/1.1",
    "PRI * HTTP/2.0",
    "GET /index.html HTTP/1.0", "GET /index.html HTTP/3.0", "GET /index.html", "get /index.html HTTP/1.1",
    "GET  /index.html HTTP/1.1", "GET\t/index.html\tHTTP/1.1", "GET /index.html HTTP/1.1 HTTP/1.1",
    "TRACE /index.html HTTP/1.1",
  ])
  func targetsStayOnTheirHost(line: String) async throws {
    let heard = try await answers(to: "\(line)\r\nHost: m.test\r\nConnection: close\r\n\r\n")
    #expect(heard.hasPrefix(Self.established))
    #expect(transport.sent.allSatisfy { $0.url.hasPrefix("https://m.test/") }, "\(transport.sent.map(\.url))")
    #expect(network.secured == ["m.test"] && network.connected.isEmpty)
    // A page with another host's name isn't served from the device.
    let local = line.contains("/index.html") && !line.contains("bank.test")
    #expect(local || !heard.contains("<p>one"), "\(heard)")
  }

  @Test(arguments: [
    "bank.test", "m.test:80", "m.test:8443", "m.test@bank.test", "bank.test/m.test", "bank.test#m.test",
    "m.test, bank.test",
    "m.test bank.test", "m.test:443:443", "[m.test]", "", "*", "m.test\\@bank.test", "xm.test",
    "m.test.bank.test",
  ])
  func otherHostsThanTheCertificatesAreRefused(host: String) async throws {
    let heard = try await answers(
      to: "GET /index.html HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
    let answer = heard.dropFirst(Self.established.count)
    #expect(answer.hasPrefix("HTTP/1.1 4"), "\(heard)")
    #expect(transport.sent.isEmpty && network.connected.isEmpty)
  }

  /// Targets of CONNECT.
  @Test(arguments: [
    "bank.test@m.test:443", "m.test:443@bank.test:443", "m.test:0", "m.test:65536", "m.test:-1",
    "m.test:443:80", ":443", "[::1:443",
    "m.test:443/", "m.test:443?bank.test", "m.test:443#bank.test", "//bank.test:443", "https://bank.test:443",
    "m.test:443\\bank.test",
    "m.test:4 43", "[m.test]:443",
  ])
  func invalidConnectTargetsAreRefused(site: String) async throws {
    let heard = try await answers(to: "", site)
    #expect(heard.isEmpty || heard.hasPrefix("HTTP/1.1 4"), "\(heard)")
    #expect(network.secured.isEmpty && network.connected.isEmpty && transport.sent.isEmpty)
  }

  /// Parts of a request without a natural limit. The long texts are made in the test, since arguments are logged.
  enum Endless: CaseIterable {
    case target, value, fields, emptyLines, method, chunkExtension, trailers, chunkSize

    var text: String {
      let (get, post) = ("GET /api HTTP/1.1\r\nHost: m.test\r\n", "POST /api HTTP/1.1\r\nHost: m.test\r\n")
      let chunked = "\(post)Transfer-Encoding: chunked\r\n\r\n"
      let long = { (text: String) in String(repeating: text, count: (1 << 20) / text.utf8.count) }
      return switch self {
      case .target: "GET /\(long("a")) HTTP/1.1\r\nHost: m.test\r\n\r\n"
      case .value: "\(get)X: \(long("a"))\r\n\r\n"
      case .fields: "\(get)\(String(repeating: "X: a\r\n", count: 10_000))\r\n"
      case .emptyLines: long("\r\n")
      case .method: long("G")
      case .chunkExtension: "\(chunked)1;\(long("x"))\r\n"
      case .trailers: "\(chunked)0\r\n\(long("T: x\r\n"))\r\n"
      case .chunkSize: "\(chunked)\(long("0"))1\r\n"
      }
    }
  }

  @Test(arguments: Endless.allCases) func everyPartOfARequestIsLimited(_ endless: Endless) async throws {
    let heard = try await answers(to: endless.text, quiet: 2_000)
    #expect(heard.hasPrefix(Self.established) && transport.sent.isEmpty)
    let answer = heard.dropFirst(Self.established.count)
    #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"), "\(answer.prefix(200))")
  }

  /// Ranges of the page, which has six bytes, and conditional requests.
  @Test(arguments: [
    ("Range: bytes=0-0,2-2,4-4", 200), ("Range: bytes=\(String(repeating: "0-,", count: 20))0-", 200),
    ("Range: bytes=9999999999999999999-", 416), ("Range: bytes=7-", 416), ("Range: bytes=-0", 416),
    ("Range: bytes=5-1", 200),
    ("Range: bytes=-9999999999999999999", 206), ("Range: bytes=0-9999999999999999999", 206),
    ("Range: bytes=0x1-2", 200),
    ("Range: bits=0-1", 200), ("Range: bytes=1-2\r\nRange: bytes=0-0", 200),
    ("If-None-Match: \(String(repeating: "\"a\",", count: 20))*", 200), ("If-None-Match: *", 304),
    ("If-None-Match: \"", 200),
  ])
  func rangesAndConditions(field: String, status: Int) async throws {
    let heard = try await answers(
      to: "GET /index.html HTTP/1.1\r\nHost: m.test\r\n\(field)\r\nConnection: close\r\n\r\n")
    let answer = heard.dropFirst(Self.established.count)
    #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer.prefix(300))")
    #expect(transport.sent.isEmpty)
  }
}
