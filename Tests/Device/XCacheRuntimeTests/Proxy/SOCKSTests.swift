import DeviceTestSupport
import System
import Testing

@testable import XCacheDevice
@testable import XCacheRuntime

/// The proxy as a SOCKS 5 server.
@Suite struct SOCKSTests {
  let bench: RuntimeBench
  let network = FakeProxyNetwork()

  init() throws { bench = try RuntimeBench() }

  private func proxy() async throws -> PageProxy {
    let runtime = try await bench.runtime()
    #expect(await runtime.handle(.launch)?.kind == .whole)
    let proxy = PageProxy(runtime, transport: FakePageTransport(), network: network)
    for host in proxy.hosts { proxy.addTrustedHost(host) }
    return proxy
  }

  private func dial(_ proxy: PageProxy) throws -> MemoryStream {
    let (engine, own) = MemoryStream.pair()
    _ = try OSThread(name: "proxied") { proxy.serve(own) }
    return engine
  }

  private func counted(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }

  /// Reads `count` bytes, or until the end.
  private func hear(_ count: Int, _ engine: MemoryStream) async -> [UInt8] {
    await MemoryStream.onOwnThread {
      var heard: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 1)
      while heard.count < count,
        buffer.withUnsafeMutableBytes({ engine.read(into: $0, within: 60_000) }) == 1
      { heard.append(buffer[0]) }
      return heard
    }
  }

  /// A connection whose password was accepted.
  private func greet(_ proxy: PageProxy) async throws -> MemoryStream {
    let engine = try dial(proxy)
    _ = engine.write([5, 2, 0, 2])
    #expect(await hear(2, engine) == [5, 2])
    _ = engine.write([1] + counted("xcache") + counted(proxy.password))
    #expect(await hear(2, engine) == [1, 0])
    return engine
  }

  private static let succeeded: [UInt8] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]

  @Test func pagesComeFromTheDevice() async throws {
    let engine = try await greet(try await proxy())
    _ = engine.write([5, 1, 0, 3] + counted("M.test") + [1, 187])
    #expect(await hear(10, engine) == Self.succeeded)
    engine.say("GET /index.html HTTP/1.1\r\nHost: m.test\r\nSec-Fetch-Dest: document\r\n\r\n")
    #expect(await engine.answer().hasSuffix("\r\n\r\n<p>one"))
    #expect(network.secured == ["m.test"] && network.connected.isEmpty)
  }

  @Test(
    arguments: [
      ([3, 9] + Array("bank.test".utf8), "bank.test"), ([1, 192, 0, 2, 1], "192.0.2.1"),
      // Addresses as names, and names that only the system can resolve.
      ([3, 11] + Array("2001:db8::1".utf8), "[2001:db8::1]"),
      ([3, 9] + Array("192.0.2.1".utf8), "192.0.2.1"),
      ([3, 255] + [UInt8](repeating: 0x61, count: 255), String(repeating: "a", count: 255)),
      ([3, 9] + Array("xn--a.tst".utf8), "xn--a.tst"), ([3, 7] + Array("m.test.".utf8), "m.test."),
      ([4, 0x20, 1, 0xD, 0xB8] + [UInt8](repeating: 0, count: 11) + [1], "[2001:db8::1]"),
    ] as [([UInt8], String)])
  func otherHostsAreForwardedUnread(_ address: [UInt8], _ host: String) async throws {
    let engine = try await greet(try await proxy())
    _ = engine.write([5, 1, 0] + address + [0x20, 0xFB])
    #expect(await hear(10, engine) == Self.succeeded)
    engine.say("hello")
    #expect(await engine.hear(until: "hello") == "\(host): hello")
    #expect(network.secured.isEmpty && network.connected == ["\(host):8443"])
  }

  @Test(
    arguments: [
      // No password, and an invalid greeting.
      ([5, 1, 0], [5, 0xFF]), ([5, 0], [5, 0xFF]),
      // Wrong passwords.
      ([5, 1, 2, 1, 6] + Array("xcache".utf8) + [0], [5, 2, 1, 1]),
      ([5, 1, 2, 1, 0, 48] + [UInt8](repeating: 0x30, count: 48), [5, 2, 1, 1]),
      // Of another version.
      ([5, 1, 2, 2], [5, 2]),
    ] as [([UInt8], [UInt8])])
  func clientsWithoutThePasswordAreRefused(_ asks: [UInt8], _ answer: [UInt8]) async throws {
    let engine = try dial(try await proxy())
    _ = engine.write(asks)
    #expect(await hear(100, engine) == answer)
    #expect(network.secured.isEmpty && network.connected.isEmpty)
  }

  @Test(
    arguments: [
      ([5, 2, 0, 1, 0, 0, 0, 0, 0, 80], 7), ([5, 1, 0, 9], 8), ([5, 1, 0, 3, 1, 0x20, 0, 80], 1),
      // An empty name, one that isn't ASCII, names with more than a host, and no port.
      ([5, 1, 0, 3, 0, 0, 80], 1), ([5, 1, 0, 3, 4, 0x6D, 0xC3, 0xBC, 0x6E, 1, 187], 1),
      ([5, 1, 0, 3, 8] + Array("m.test/a".utf8) + [1, 187], 1),
      ([5, 1, 0, 3, 8] + Array("a@m.test".utf8) + [1, 187], 1),
      ([5, 1, 0, 3, 10] + Array("m.test:443".utf8) + [1, 187], 1),
      ([5, 1, 0, 3, 6] + Array("m.test".utf8) + [0, 0], 1),
      ([4, 1, 0, 1], nil),
    ] as [([UInt8], UInt8?)])
  func invalidRequestsAreRefused(_ request: [UInt8], _ reply: UInt8?) async throws {
    let engine = try await greet(try await proxy())
    _ = engine.write(request)
    #expect(await hear(100, engine) == (reply.map { [5, $0, 0, 1, 0, 0, 0, 0, 0, 0] } ?? []))
    #expect(network.secured.isEmpty && network.connected.isEmpty)
  }

  @Test func unreachableServersAreReported() async throws {
    let engine = try await greet(try await proxy())
    network.goDown()
    _ = engine.write([5, 1, 0, 3] + counted("bank.test") + [1, 187])
    #expect(await hear(100, engine) == [5, 4, 0, 1, 0, 0, 0, 0, 0, 0])
  }
}
