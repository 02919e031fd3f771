import DeviceTestSupport
import Foundation
import SocketServer
import System
import Testing
import TestSupport
import XCacheDevice
import XCacheRuntime

@testable import DeviceLinux
@testable import HTTPDNS

/// Requests over streams to a resolved address, in which everything else stays the name's; `ResolvedTransportTests`
/// does the same over libcurl.
@Suite(.unhurried, .enabled(if: TLSServer.isPossible)) struct ResolvedStreamTests {
  private struct NoCookies: CookieStore {
    func header(for url: String) async -> String? { nil }
    func take(_ values: [String], from url: String) async {}
  }

  /// A timeout that is so long that a test which waits for it has failed.
  private static let longTimeout = 300_000

  /// - Parameter races: whether the next address is tried after a delay; otherwise only when an attempt has ended, so
  ///   that the machine's speed doesn't matter.
  private func fetcher(_ resolver: HTTPDNSResolver, authorities: String? = nil, races: Bool = false)
    -> PageFetcher
  {
    let dialer = AddressDialer(
      resolver, connectSeconds: 300, addressMilliseconds: Self.longTimeout,
      raceMilliseconds: races ? nil : Self.longTimeout
    )
    return PageFetcher(
      StreamPageTransport(LinuxProxyNetwork(authorities: authorities, dialer: dialer)), cookies: NoCookies())
  }

  private func get(_ url: String, _ fetcher: PageFetcher) async throws(TransportError) -> String {
    let body = Locked<[UInt8]>([])
    try await fetcher.fetch(NetworkRequest(url)) { _ in
      true
    } receive: { bytes in
      body.withLock { body in bytes.withUnsafeBytes { body.append(contentsOf: $0) } }
      return true
    }
    return String(decoding: body.withLock { $0 }, as: UTF8.self)
  }

  /// One address, two names: TLS uses the name, and the name's certificate is checked.
  @Test func namesShareAnAddress() async throws {
    let server = try TLSServer.shared.get()
    let fetcher = fetcher(
      .fake(system: [:], service: ["good.test": ["127.0.0.1"], "second.test": ["127.0.0.1"]]),
      authorities: server.authorities)
    for host in ["good.test", "second.test", "good.test"] {
      #expect(try await get(server.url(host), fetcher) == "127.0.0.1 \(host) \(host)")
    }
  }

  /// Another certificate than the host's is never accepted.
  @Test(arguments: ["wrong.test", "expired.test"]) func certificatesAreChecked(host: String) async throws {
    let server = try TLSServer.shared.get()
    let resolver = HTTPDNSResolver.fake(system: [host: ["127.0.0.2"]], service: [host: ["127.0.0.1"]])
    let error = await #expect(throws: TransportError.self) {
      try await get(server.url(host), fetcher(resolver, authorities: server.authorities))
    }
    #expect(error?.kind == .unreachable)
    // Both addresses were tried, and are avoided now.
    #expect(resolver.resolve(host) == nil)
  }

  /// Nor is a certificate without a trusted authority.
  @Test func unknownAuthoritiesAreRefused() async throws {
    let server = try TLSServer.shared.get()
    let resolver = HTTPDNSResolver.fake(system: [:], service: ["good.test": ["127.0.0.1"]])
    let error = await #expect(throws: TransportError.self) {
      try await get(server.url("good.test"), fetcher(resolver))
    }
    #expect(error?.kind == .unreachable)
  }

  /// A wrong answer of the service or the system costs a connection.
  @Test func poisonedAnswersAreDetected() async throws {
    let server = try TLSServer.shared.get()
    let resolver = HTTPDNSResolver.fake(
      system: ["good.test": ["127.0.0.1"]], service: ["good.test": ["127.0.0.3"]])
    let fetcher = fetcher(resolver, authorities: server.authorities)
    #expect(try await get(server.url("good.test"), fetcher) == "127.0.0.1 good.test good.test")
    #expect(resolver.resolve("good.test")?.addresses.map(\.text) == ["127.0.0.1"])
  }

  @Test func closedAddressesAreSkippedAndAvoided() async throws {
    let server = try TLSServer.shared.get()
    let resolver = HTTPDNSResolver.fake(system: [:], service: ["good.test": ["127.0.0.4", "127.0.0.1"]])
    let fetcher = fetcher(resolver, authorities: server.authorities)
    #expect(try await get(server.url("good.test"), fetcher) == "127.0.0.1 good.test good.test")
    #expect(resolver.resolve("good.test")?.addresses.map(\.text) == ["127.0.0.1"])
  }

  /// One address accepts no connection, the other one is silent: neither is waited for. Losing the race isn't a
  /// failure.
  @Test(arguments: ["127.0.0.5", "127.0.0.6"]) func silentAddressesLoseTheRace(silent: String) async throws {
    let server = try TLSServer.shared.get()
    let resolver = HTTPDNSResolver.fake(system: [:], service: ["good.test": [silent, "127.0.0.1"]])
    let fetcher = fetcher(resolver, authorities: server.authorities, races: true)
    #expect(try await get(server.url("good.test"), fetcher) == "127.0.0.1 good.test good.test")
    #expect(resolver.resolve("good.test")?.addresses.map(\.text) == ["127.0.0.1", silent])
  }

  @Test func systemIsTheLastResort() async throws {
    let server = SocketServer { _ in .answer(body: "here".utf8) }
    let fetcher = fetcher(.fake(system: [:], service: ["localhost": ["127.0.0.4"]]))
    #expect(try await get("http://localhost:\(server.port)/", fetcher) == "here")
  }

  /// A page that is closed doesn't wait for a connection.
  @Test(arguments: ["127.0.0.5", "127.0.0.6"]) func requestsCanBeCancelledWhileConnecting(silent: String)
    async throws
  {
    let server = try TLSServer.shared.get()
    let resolver = HTTPDNSResolver.fake(system: [:], service: ["good.test": [silent]])
    let fetcher = fetcher(resolver, authorities: server.authorities)
    let task = Task {
      do throws(TransportError) {
        _ = try await get(server.url("good.test"), fetcher)
        return nil as TransportError.Kind?
      } catch {
        return error.kind
      }
    }
    try await Task.sleep(for: .milliseconds(50))
    task.cancel()
    #expect(await task.value == .stopped)
    #expect(resolver.resolve("good.test")?.addresses.map(\.text) == [silent])
  }

  /// An app needn't ignore SIGPIPE.
  @Test func writingToAClosedConnectionRaisesNoSignal() async throws {
    let server = try TLSServer.shared.get()
    await #expect(processExitsWith: .success) {
      [port = server.port as Int, authorities = server.authorities as String] in
      let network = LinuxProxyNetwork(
        authorities: authorities,
        dialer: AddressDialer(HTTPDNSResolver.fake(system: [:], service: ["good.test": ["127.0.0.1"]])))
      let stream = try network.connect(to: "good.test", port: port, isSecure: true, isCancelled: { false })
      stream.close()
      exit([1, 2, 3].withUnsafeBytes { stream.write($0, within: 1_000) } ? 3 : 0)
    }
  }

  /// The sockets of losing attempts are closed, however long their timeouts are.
  @Test func losersOfTheRaceAreClosed() async throws {
    let server = try TLSServer.shared.get()
    await #expect(processExitsWith: .success) {
      [port = server.port as Int, authorities = server.authorities as String] in
      func countSockets() -> Int {
        let folder = "/proc/self/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.count { name in
          let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
          return file?.hasPrefix("socket:") ?? false
        }
      }
      let resolver = HTTPDNSResolver.fake(
        system: [:],
        service: ["good.test": ["127.0.0.6", "127.0.0.5", "127.0.0.4", "127.0.0.3", "127.0.0.1"]])
      let dialer = AddressDialer(resolver, connectSeconds: 300, addressMilliseconds: Self.longTimeout)
      let network = LinuxProxyNetwork(authorities: authorities, dialer: dialer)
      func waits(for expected: Int) -> Bool {
        for _ in 0..<3_000 {
          if countSockets() == expected { return true }
          Clock.sleep(for: .milliseconds(20))
        }
        return false
      }
      let before = countSockets()
      let isOne = try {
        let winner = try network.connect(
          to: "good.test", port: port, isSecure: true, isCancelled: { false })
        defer { winner.close() }
        return waits(for: before + 1)
      }()
      exit(isOne && waits(for: before) ? 0 : 3)
    }
  }
}
