import System
import Testing
import XCacheDevice

@testable import XCacheRuntime

/// What neither a process without the password nor a server can keep hold of.
@Suite struct ProxyLimitsTests {
  let bench: RuntimeBench

  init() throws { bench = try RuntimeBench() }

  /// Runs `body` on a thread of its own.
  /// - Returns: whether it came back within `duration`.
  private func ends(within duration: Duration, _ body: @escaping @Sendable () -> Void) async throws -> Bool {
    let isOver = Monitor(false)
    _ = try OSThread(name: "limited") {
      body()
      isOver.broadcasting { $0 = true }
    }
    return await MemoryStream.apart { isOver.waiting(for: duration) { $0 ? true : nil } ?? false }
  }

  /// Silence, a greeting and no more, and a word now and then that is no password.
  @Test(arguments: ["", "\u{5}\u{1}", "GET http://m.test/ HTTP/1.1\r\nHost: m.test\r\n\r\n"])
  func thePasswordIsThereWithinSeconds(_ said: String) async throws {
    let proxy = PageProxy(
      try await bench.runtime(), transport: FakePageTransport(), network: FakeProxyNetwork())
    let (stranger, own) = MemoryStream.pair()
    stranger.say(said)
    #expect(try await ends(within: .seconds(40)) { proxy.serve(own) })
    #expect(stranger.isGone)
  }

  /// One more has the oldest go, and none of those that showed the password.
  @Test func strangersAreFew() {
    let strangers = ProxyStrangers()
    let engine = MemoryStream.pair()
    let known = strangers.enters(engine.0)
    let first = (0..<ProxyStrangers.most - 1).map { _ in MemoryStream.pair() }
    for pair in first { _ = strangers.enters(pair.0) }
    strangers.leaves(known)
    let second = (0..<3).map { _ in MemoryStream.pair() }
    for pair in second { _ = strangers.enters(pair.0) }
    #expect(first.map(\.1.isGone) == first.indices.map { $0 < 2 })
    #expect(!engine.1.isGone && second.allSatisfy { !$0.1.isGone })
  }

  /// The one side has closed, and the other one doesn't: a tunnel ends all the same.
  @Test(arguments: [true, false])
  func aTunnelEndsSecondsAfterOneSide(_ isEngine: Bool) async throws {
    let ((engine, own), (server, far)) = (MemoryStream.pair(), MemoryStream.pair())
    (isEngine ? engine : far).finishWriting()
    #expect(try await ends(within: .seconds(40)) { ProxyTunnel.join(own, server) })
    #expect(engine.isGone && far.isGone)
  }

  /// What was on its way arrives.
  @Test func aTunnelPassesOnWhatComesBehindTheOtherSidesEnd() async throws {
    let ((engine, own), (server, far)) = (MemoryStream.pair(), MemoryStream.pair())
    _ = try OSThread(name: "tunnel") { ProxyTunnel.join(own, server) }
    // On a thread of its own, since a tunnel gives it seconds alone.
    _ = try OSThread(name: "server") {
      var asked: [UInt8] = []
      var byte: UInt8 = 0
      while withUnsafeMutableBytes(of: &byte, { far.read(into: $0, within: 60_000) }) == 1 {
        asked.append(byte)
      }
      far.say("answer to \(String(decoding: asked, as: UTF8.self))")
      far.close()
    }
    engine.say("ask")
    engine.finishWriting()
    #expect(await engine.hear(until: "nothing, but its end") == "answer to ask")
  }

  /// An engine may take an end for that of what it loads, and a reset never.
  @Test(arguments: [true, false]) func aTunnelBreaksOffWithEitherSide(_ isEngine: Bool) async throws {
    let ((engine, own), (server, far)) = (MemoryStream.pair(), MemoryStream.pair())
    let (source, target) = isEngine ? (own, far) : (server, engine)
    (isEngine ? engine : far).say("half")
    source.breakInput()
    #expect(try await ends(within: .seconds(40)) { ProxyTunnel.join(own, server) })
    #expect(await target.hear(until: "never") == "half" && target.isBroken)
  }

  /// Whether something is under way shows by who spoke last, and when.
  @Test func anIdleTunnelCanBeEnded() async throws {
    let ((engine, own), (server, far)) = (MemoryStream.pair(), MemoryStream.pair())
    let tunnel = ProxyTunnel(own, server)
    _ = try OSThread(name: "tunnel") { tunnel.join() }
    // Somebody who waits for an answer isn't disturbed, however long that takes.
    for question in ["", "ask"] {
      engine.say(question)
      #expect(await far.hear(until: question) == question)
      try await Task.sleep(for: .milliseconds(ProxyTunnel.pause + 500))
      tunnel.endIfIdle()
      #expect(!engine.isGone && !far.isGone)
    }
    far.say("answer")
    #expect(await engine.hear(until: "answer") == "answer")
    for _ in 0..<60 where !engine.isGone {
      try await Task.sleep(for: .milliseconds(500))
      tunnel.endIfIdle()
    }
    #expect(engine.isGone && far.isGone)
  }

  /// A server that takes nothing and says nothing, of which an engine has had enough.
  @Test func aTunnelEndsWithItsEngine() async throws {
    let (engine, own) = MemoryStream.pair()
    let server = DeafStream()
    engine.say("ask")
    engine.close()
    #expect(try await ends(within: .seconds(50)) { ProxyTunnel.join(own, server) })
    server.close()
  }

  /// Nobody waits any more for the file that it is fetching.
  @Test func anEngineThatHungUpEndsTheDownload() async throws {
    let runtime = try await bench.runtime()
    await runtime.handle(.launch)
    for name in try Folder.textNames("\(bench.folder)/files") where name.contains("app.js") {
      try Kernel.remove("\(bench.folder)/files/\(name)")
    }
    let transport = FakePageTransport()
    let proxy = PageProxy(runtime, transport: transport, network: FakeProxyNetwork())
    for host in proxy.hosts { proxy.trusts(host) }
    let barrier = Barrier()
    bench.origin.eachPiece { if $0.hasPrefix("https://cdn.test/") { barrier.wait() } }
    let (engine, own) = MemoryStream.pair()
    let served = Monitor(false)
    _ = try OSThread(name: "proxied") {
      proxy.serve(own)
      served.broadcasting { $0 = true }
    }
    let password = Base64.encode(Array("xcache:\(proxy.password)".utf8))
    engine.say(
      "CONNECT m.test:443 HTTP/1.1\r\nHost: m.test:443\r\nProxy-Authorization: Basic \(password)\r\n\r\n")
    #expect(await engine.answer() == "HTTP/1.1 200 OK\r\n\r\n")
    engine.say("GET /app.js HTTP/1.1\r\nHost: m.test\r\n\r\n")
    await barrier.reached()
    engine.close()
    #expect(await MemoryStream.apart { served.waiting(for: .seconds(30)) { $0 ? true : nil } ?? false })
    barrier.open()
    await runtime.smallFetchThreads.idle(within: .seconds(60))
    // The download was stopped at its first chunk, and the network wasn't asked in its place.
    #expect(try !Folder.textNames("\(bench.folder)/files").contains { $0.contains("app.js") })
    #expect(transport.sent.isEmpty)
  }
}

/// A server that keeps its connection, and that's all.
private final class DeafStream: ProxyStream {
  private let isClosed = Monitor(false)

  private func wait(_ milliseconds: Int) -> Bool {
    isClosed.waiting(for: .milliseconds(milliseconds)) { $0 ? true : nil } ?? false
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, within milliseconds: Int) -> Int? {
    wait(milliseconds) ? 0 : nil
  }

  func write(_ bytes: UnsafeRawBufferPointer, within milliseconds: Int) -> Bool {
    _ = wait(milliseconds)
    return false
  }

  var isBroken: Bool { false }
  var isGone: Bool { isClosed.withLock { $0 } }
  func finishWriting() {}
  func close() { isClosed.broadcasting { $0 = true } }
  func reset() { close() }
}
