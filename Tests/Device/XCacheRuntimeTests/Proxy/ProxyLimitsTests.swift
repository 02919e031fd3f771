import DeviceTestSupport
import System
import Testing
import XCacheDevice

@testable import XCacheRuntime

/// Limits for processes without the password, and for servers.
@Suite struct ProxyLimitsTests {
  let bench: RuntimeBench

  init() throws { bench = try RuntimeBench() }

  /// Runs `body` on its own thread.
  /// - Returns: whether it came back within `duration`.
  private func ends(within duration: Duration, _ body: @escaping @Sendable () -> Void) async throws -> Bool {
    let isOver = Monitor(false)
    _ = try OSThread(name: "limited") {
      body()
      isOver.broadcasting { $0 = true }
    }
    return await MemoryStream.onOwnThread { isOver.waiting(for: duration) { $0 ? true : nil } ?? false }
  }

  /// Nothing, only a greeting, and requests without a password.
  @Test(arguments: ["", "\u{5}\u{1}", "GET http://m.test/ HTTP/1.1\r\nHost: m.test\r\n\r\n"])
  func connectionsWithoutThePasswordEndWithinSeconds(_ said: String) async throws {
    let proxy = PageProxy(
      try await bench.runtime(), transport: FakePageTransport(), network: FakeProxyNetwork())
    let (client, own) = MemoryStream.pair()
    client.say(said)
    #expect(try await ends(within: .seconds(40)) { proxy.serve(own) })
    #expect(client.isGone)
  }

  /// One more than the limit closes the oldest one, but none that sent the password.
  @Test func unauthenticatedConnectionsAreLimited() {
    let unauthenticated = UnauthenticatedStreams()
    let engine = MemoryStream.pair()
    let known = unauthenticated.add(engine.0)
    let first = (0..<UnauthenticatedStreams.maxCount - 1).map { _ in MemoryStream.pair() }
    for pair in first { _ = unauthenticated.add(pair.0) }
    unauthenticated.remove(known)
    let second = (0..<3).map { _ in MemoryStream.pair() }
    for pair in second { _ = unauthenticated.add(pair.0) }
    #expect(first.map(\.1.isGone) == first.indices.map { $0 < 2 })
    #expect(!engine.1.isGone && second.allSatisfy { !$0.1.isGone })
  }

  /// One side has closed, and the other one doesn't: the tunnel ends anyway.
  @Test(arguments: [true, false])
  func tunnelsEndSecondsAfterOneSide(_ isEngine: Bool) async throws {
    let ((engine, own), (server, far)) = (MemoryStream.pair(), MemoryStream.pair())
    (isEngine ? engine : far).finishWriting()
    #expect(try await ends(within: .seconds(40)) { ProxyTunnel.join(own, server) })
    #expect(engine.isGone && far.isGone)
  }

  /// Bytes under way arrive.
  @Test func tunnelsForwardBytesAfterTheOtherSideEnded() async throws {
    let ((engine, own), (server, far)) = (MemoryStream.pair(), MemoryStream.pair())
    _ = try OSThread(name: "tunnel") { ProxyTunnel.join(own, server) }
    // On its own thread, since the tunnel only waits for seconds.
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

  /// An engine may take a normal end for the end of the body, but not a reset.
  @Test(arguments: [true, false]) func tunnelsForwardResetsOfEitherSide(_ isEngine: Bool) async throws {
    let ((engine, own), (server, far)) = (MemoryStream.pair(), MemoryStream.pair())
    let (source, target) = isEngine ? (own, far) : (server, engine)
    (isEngine ? engine : far).say("half")
    source.breakInput()
    #expect(try await ends(within: .seconds(40)) { ProxyTunnel.join(own, server) })
    #expect(await target.hear(until: "never") == "half" && target.isBroken)
  }

  /// A tunnel is idle if the server sent last, some time ago.
  @Test func idleTunnelsCanBeEnded() async throws {
    let ((engine, own), (server, far)) = (MemoryStream.pair(), MemoryStream.pair())
    let tunnel = ProxyTunnel(own, server)
    _ = try OSThread(name: "tunnel") { tunnel.join() }
    // A tunnel that waits for an answer isn't ended, however long that takes.
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

  /// The server reads and sends nothing, and the engine closes.
  @Test func tunnelsEndWithTheirEngine() async throws {
    let (engine, own) = MemoryStream.pair()
    let server = DeafStream()
    engine.say("ask")
    engine.close()
    #expect(try await ends(within: .seconds(50)) { ProxyTunnel.join(own, server) })
    server.close()
  }

  /// The file that is being fetched isn't needed any more.
  @Test func disconnectedEnginesCancelDownloads() async throws {
    let runtime = try await bench.runtime()
    await runtime.handle(.launch)
    for name in try Folder.textNames("\(bench.folder)/files") where name.contains("app.js") {
      try Kernel.remove("\(bench.folder)/files/\(name)")
    }
    let transport = FakePageTransport()
    let proxy = PageProxy(runtime, transport: transport, network: FakeProxyNetwork())
    for host in proxy.hosts { proxy.addTrustedHost(host) }
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
    #expect(await MemoryStream.onOwnThread { served.waiting(for: .seconds(30)) { $0 ? true : nil } ?? false })
    barrier.open()
    await runtime.smallFetchThreads.waitUntilIdle(within: .seconds(60))
    // The download was stopped at its first chunk, and the network wasn't asked in its place.
    #expect(try !Folder.textNames("\(bench.folder)/files").contains { $0.contains("app.js") })
    #expect(transport.sent.isEmpty)
  }
}

/// A server that keeps its connection open, and neither reads nor sends.
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
