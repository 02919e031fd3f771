import DeviceTestSupport
import System
import Testing
import TestSupport
import XCacheDevice

@testable import XCacheRuntime

/// Attacks on the proxy inside an app: request smuggling, randomly damaged requests and hostile answers, engines that
/// disconnect, and another app's password.
@Suite struct ProxyAttackTests {
  let bench: RuntimeBench
  let transport = FakePageTransport()

  init() throws { bench = try RuntimeBench() }

  private func proxy(_ transport: (any PageTransport)? = nil) async throws -> PageProxy {
    let runtime = try await bench.runtime()
    #expect(await runtime.handle(.launch)?.kind == .whole)
    let proxy = PageProxy(runtime, transport: transport ?? self.transport, network: FakeProxyNetwork())
    proxy.addTrustedHost("m.test")
    return proxy
  }

  /// The engine's end of a connection to m.test.
  private static func connected(_ proxy: PageProxy, as password: String? = nil) throws -> MemoryStream {
    let (engine, own) = MemoryStream.pair()
    _ = try OSThread(name: "proxied") { proxy.serve(own) }
    let credentials = Base64.encode(Array("xcache:\(password ?? proxy.password)".utf8))
    engine.say(
      "CONNECT m.test:443 HTTP/1.1\r\nHost: m.test:443\r\nProxy-Authorization: Basic \(credentials)\r\n\r\n")
    return engine
  }

  /// Everything that is answered to these bytes, until the connection ends or nothing arrives for `milliseconds`.
  private static func answers(
    to bytes: [UInt8], _ proxy: PageProxy, within milliseconds: Int = 30_000
  ) throws -> [UInt8] {
    let engine = try connected(proxy)
    defer { engine.close() }
    let connected = Array("HTTP/1.1 200 OK\r\n\r\n".utf8)
    _ = engine.write(bytes)
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let limit = all.count < connected.count ? 60_000 : milliseconds
      let count = buffer.withUnsafeMutableBytes { engine.read(into: $0, within: limit) }
      guard let count, count > 0 else { break }
      all += buffer[..<count]
    }
    #expect(all.starts(with: connected))
    return Array(all.dropFirst(connected.count))
  }

  /// A request after which the connection is closed.
  private static func last(_ path: String) -> [UInt8] {
    Array("GET \(path) HTTP/1.1\r\nHost: m.test\r\nConnection: close\r\n\r\n".utf8)
  }

  // MARK: Requests

  private static let smuggled = "GET /smuggled HTTP/1.1\r\nHost: m.test\r\n\r\n"

  /// Bodies that another parser would read as a second request.
  @Test(arguments: [
    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "Content-Length: 0\r\nContent-Length: 45\r\n\r\n", "Content-Length: 45\r\nContent-Length: 0\r\n\r\n",
    "Content-Length: 0, 45\r\n\r\n", "Content-Length: +0\r\n\r\n", "Content-Length: -1\r\n\r\n",
    "Content-Length: 0x0\r\n\r\n",
    "Content-Length: 99999999999999999999\r\n\r\n", "Content-Length: 1 2\r\n\r\n", "Content-Length:\r\n\r\n",
    "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding: \u{B}chunked\r\n\r\n0\r\n\r\n", " Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "X: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding: identity\r\n\r\n",
    "Transfer-Encoding:\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n-1\r\n", "Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
    "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n1\na\n0\n\n", "Transfer-Encoding: chunked\r\n\r\n\r\n0\r\n\r\n",
    "Host: m.test\r\n\r\n", "Host: bank.test\r\n\r\n",
  ])
  func requestsCannotBeSmuggled(_ rest: String) async throws {
    let proxy = try await proxy()
    let bytes = Array("POST /api HTTP/1.1\r\nHost: m.test\r\n\(rest)\(Self.smuggled)".utf8)
    let answers = try await Self.onOwnThread { try Self.answers(to: bytes, proxy) }
    #expect(!transport.sent.contains { $0.url.hasSuffix("/smuggled") })
    // The connection is closed: the bytes after it aren't read.
    #expect(transport.sent.isEmpty && Heads(answers).statuses.allSatisfy { 400 <= $0 && $0 < 600 })
  }

  /// Requests with bytes removed, repeated, swapped or overwritten.
  @Test func damagedRequests() async throws {
    let proxy = try await proxy()
    var random = SplitMix(seed: 7)
    let good = [
      "GET /index.html HTTP/1.1\r\nHost: m.test\r\nSec-Fetch-Dest: document\r\nRange: bytes=1-3\r\n\r\n",
      "POST /api HTTP/1.1\r\nHost: m.test\r\nContent-Length: 4\r\nX-Own: a\r\n\r\nbody\(Self.smuggled)",
      "POST /api HTTP/1.1\r\nHost: m.test\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\nbody\r\n0\r\nT: x\r\n\r\n\(Self.smuggled)",
      "GET /api HTTP/1.1\r\nHost: m.test\r\nConnection: keep-alive, x-own\r\nX-Own: 1\r\nProxy-Authorization: x\r\n\r\n",
    ].map { Array($0.utf8) }
    let damaged = (0..<400).map { _ in Self.damage(good[Int(random.next() % 4)], &random) }
    // Enough for a body whose length was changed.
    let end = (0..<10).flatMap { _ in Self.last("/api") }
    try await Self.onOwnThread {
      for bytes in damaged {
        let heads = Heads(try Self.answers(to: bytes + end, proxy, within: 300))
        #expect(heads.areWellFormed, "\(String(decoding: bytes, as: UTF8.self))")
      }
    }
    for sent in transport.sent {
      #expect(sent.url.hasPrefix("https://m.test/"))
      #expect(!sent.headers.keys.contains { $0 == "proxy-authorization" || $0.utf8.contains { $0 <= 0x20 } })
      #expect(!sent.headers.values.contains { $0.utf8.contains { $0 == 0x0D || $0 == 0x0A || $0 == 0 } })
    }
    #expect(transport.sent.count > 50)
  }

  private static func damage(_ good: [UInt8], _ random: inout SplitMix) -> [UInt8] {
    let signs = Array("\r\n\0: ;,\t\u{7F}0aF%".utf8)
    var bytes = good
    for _ in 0...Int(random.next() % 3) {
      let low = Int(random.next() % UInt64(bytes.count))
      let high = min(bytes.count, low + 1 + Int(random.next() % 6))
      switch random.next() % 4 {
      case 0: bytes.removeSubrange(low..<min(high, bytes.count - 1))
      case 1: bytes.insert(contentsOf: bytes[low..<high], at: low)
      case 2: bytes[low] = signs[Int(random.next() % UInt64(signs.count))]
      default: bytes.swapAt(low, high - 1)
      }
    }
    return bytes
  }

  // MARK: Answers

  /// Whatever a server sends reaches the engine as one answer.
  @Test(
    arguments: [
      (200, [("X", "a\r\nInjected: 1")]), (200, [("X\r\nInjected", "1")]), (200, [("X", "a\n\nInjected: 1")]),
      (200, [("X Y", "1"), ("Y:", "2"), ("", "3")]), (200, [("X", "a\0b")]), (0, []), (-5, []), (99_999, []),
      (200, [("Content-Length", "3")]), (200, [("Content-Length", "-3")]),
      (200, [("Content-Length", "9999999999999999999")]),
      (200, [("Content-Length", "3"), ("Transfer-Encoding", "chunked")]),
      (200, [("Connection", "content-length"), ("Content-Length", "3")]),
      (204, [("Content-Length", "100")]), (304, [("Content-Length", "100")]),
      (200, [("Upgrade", "websocket"), ("Connection", "upgrade")]),
    ] as [(Int, HTTPFields)])
  func hostileAnswers(status: Int, headers: HTTPFields) async throws {
    let body = "HTTP/1.1 200 OK\r\nInjected: 1\r\nContent-Length: 0\r\n\r\n"
    let hostile = CaseTransport { request in
      (NetworkHead(status: status, headers: headers, url: request.url), body)
    }
    let proxy = try await proxy(hostile)
    let get = Array("GET /api HTTP/1.1\r\nHost: m.test\r\n\r\n".utf8)
    let answers = try await Self.onOwnThread { try Self.answers(to: get + Self.last("/api"), proxy) }
    let heads = Heads(answers)
    #expect(!heads.statuses.isEmpty)
    #expect(heads.areWellFormed && heads.names.allSatisfy { $0 != "injected" })
  }

  // MARK: Connections

  /// Requests of engines that disconnect are cancelled.
  @Test func disconnectedEnginesCancelTheirRequests() async throws {
    let hanging = Locked(0)
    let patient = FakePageTransport { request throws(TransportError) in
      guard request.url.hasSuffix("/hangs") else { return }
      hanging.withLock { $0 += 1 }
      while !request.isCancelled() { Clock.sleep(for: .milliseconds(2)) }
      hanging.withLock { $0 -= 1 }
    }
    let proxy = try await proxy(patient)
    let hangs = Array("GET /hangs HTTP/1.1\r\nHost: m.test\r\n\r\n".utf8)
    var engines: [MemoryStream] = []
    for _ in 0..<100 {
      engines.append(try Self.connected(proxy))
      _ = engines.last?.write(hangs)
    }
    while hanging.withLock({ $0 }) < 100 { try await Task.sleep(for: .milliseconds(5)) }
    for engine in engines { engine.close() }
    while hanging.withLock({ $0 }) > 0 { try await Task.sleep(for: .milliseconds(5)) }
    let answer = try await Self.onOwnThread { try Self.answers(to: Self.last("/index.html"), proxy) }
    #expect(String(decoding: answer, as: UTF8.self).hasSuffix("<p>one"))
  }

  /// Each proxy has its own password.
  @Test func passwordsOfOtherProxiesAreRefused() async throws {
    let proxy = try await proxy()
    let other = PageProxy(proxy.runtime, transport: transport, network: FakeProxyNetwork())
    let engine = try Self.connected(proxy, as: other.password)
    #expect(await engine.hear(until: "\r\n\r\n").hasPrefix("HTTP/1.1 407 "))
    #expect(transport.sent.isEmpty)
  }

  /// Runs blocking work on its own thread.
  private static func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value)
    async throws
    -> Value
  {
    try await MemoryStream.onOwnThread { Result(catching: body) }.get()
  }
}

/// The heads of answers that follow each other on one connection, as an engine reads them.
private struct Heads {
  private(set) var statuses: [Int] = []
  /// The names of their headers, in lower case.
  private(set) var names: [String] = []
  private(set) var areWellFormed = true

  init(_ bytes: [UInt8]) {
    var rest = String(decoding: bytes, as: Unicode.ASCII.self)[...]
    // The proxy truncates an answer after "HTTP/1.1 ".
    while !rest.isEmpty, rest != "HTTP/1.1 ", areWellFormed { read(&rest) }
  }

  private mutating func read(_ rest: inout Substring) {
    let lines = rest.components("\r\n\r\n").head.split(separator: "\r\n", omittingEmptySubsequences: false)
    let words = lines[0].split(separator: " ", maxSplits: 2)
    guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]),
      let body = rest.components("\r\n\r\n").body
    else {
      areWellFormed = false
      return
    }
    statuses.append(status)
    var length: Int?
    var isChunked = false
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let name = parts[0].lowercased()
      let isHeader = parts.count == 2 && !name.isEmpty && !name.contains(" ")
      if !isHeader || line.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A }) { areWellFormed = false }
      names.append(name)
      if name == "content-length" {
        let value = Int(parts[parts.count - 1].drop { $0 == " " })
        if length != nil || value == nil || value.map({ $0 < 0 }) ?? false { areWellFormed = false }
        length = value
      }
      if name == "transfer-encoding" { isChunked = true }
    }
    if isChunked, length != nil { areWellFormed = false }
    if status == 204 || status == 304 { return rest = body }
    if isChunked { return readChunks(body, &rest) }
    // A body that ends with the connection has no length.
    rest = Self.behind(length ?? .max, of: body)
  }

  private mutating func readChunks(_ body: Substring, _ rest: inout Substring) {
    rest = body
    while areWellFormed {
      let (line, more) = rest.components("\r\n")
      // The proxy truncates an answer within a chunk.
      guard let more else { return rest = "" }
      guard let size = Int(line, radix: 16), size >= 0 else { return areWellFormed = false }
      rest = Self.behind(size, of: more)
      if rest.isEmpty { return }
      guard let next = rest.components("\r\n").body, rest.utf8.starts(with: "\r\n".utf8) else {
        return areWellFormed = false
      }
      rest = next
      if size == 0 { return }
    }
  }

  private static func behind(_ count: Int, of text: Substring) -> Substring {
    text[(text.utf8.index(text.startIndex, offsetBy: count, limitedBy: text.endIndex) ?? text.endIndex)...]
  }
}

extension Substring {
  /// The parts before and after the first `separator`; the second is nil if there is none.
  fileprivate func components(_ separator: String) -> (head: Substring, body: Substring?) {
    var place = startIndex
    while place < endIndex {
      if self[place...].utf8.starts(with: separator.utf8) {
        return (self[..<place], self[utf8.index(place, offsetBy: separator.utf8.count)...])
      }
      place = utf8.index(after: place)
    }
    return (self, nil)
  }
}
