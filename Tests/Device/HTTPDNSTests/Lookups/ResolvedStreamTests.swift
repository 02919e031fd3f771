import Foundation
import SocketServer
import System
import Testing
import XCacheDevice
import XCacheRuntime

@testable import DeviceLinux
@testable import HTTPDNS

/// Requests over streams that go to an address while everything else about them stays the name's; `ResolvedTransportTests` has
/// the same over libcurl.
@Suite(.enabled(if: TLSServer.isPossible)) struct ResolvedStreamTests {
  private struct NoCookies: CookieStore {
    func header(for url: String) async -> String? { nil }
    func take(_ values: [String], from url: String) async {}
  }

  /// An address has so long that a test which waits for its end has failed.
  private static let ages = 300_000

  /// - Parameter races: where an attempt's end, not its time, is to bring on the next one, the machine's pace says nothing.
  private func fetcher(_ resolver: HTTPDNSResolver, authorities: String? = nil, races: Bool = false)
    -> PageFetcher
  {
    let dialer = AddressDialer(
      resolver, connectSeconds: 300, addressMilliseconds: Self.ages, raceMilliseconds: races ? nil : Self.ages
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

  /// One address, two names: TLS is asked for the name, and it is the name's certificate that is checked.
  @Test func namesShareAnAddress() async throws {
    let server = try TLSServer.shared.get()
    let fetcher = fetcher(
      .fake(system: [:], service: ["good.test": ["127.0.0.1"], "second.test": ["127.0.0.1"]]),
      authorities: server.authorities)
    for host in ["good.test", "second.test", "good.test"] {
      #expect(try await get(server.url(host), fetcher) == "127.0.0.1 \(host) \(host)")
    }
  }

  /// What isn't the host's certificate is never passed over.
  @Test(arguments: ["wrong.test", "expired.test"]) func certificatesAreChecked(host: String) async throws {
    let server = try TLSServer.shared.get()
    let resolver = HTTPDNSResolver.fake(system: [host: ["127.0.0.2"]], service: [host: ["127.0.0.1"]])
    let error = await #expect(throws: TransportError.self) {
      try await get(server.url(host), fetcher(resolver, authorities: server.authorities))
    }
    #expect(error?.kind == .unreachable)
    // Both addresses were tried, and are left alone now.
    #expect(resolver.resolve(host) == nil)
  }

  /// Whom nobody vouches for isn't taken, either.
  @Test func theSystemsAuthoritiesAreAsked() async throws {
    let server = try TLSServer.shared.get()
    let resolver = HTTPDNSResolver.fake(system: [:], service: ["good.test": ["127.0.0.1"]])
    let error = await #expect(throws: TransportError.self) {
      try await get(server.url("good.test"), fetcher(resolver))
    }
    #expect(error?.kind == .unreachable)
  }

  /// A service or a system that lies costs a connection.
  @Test func aPoisonedAnswerIsFoundOut() async throws {
    let server = try TLSServer.shared.get()
    let resolver = HTTPDNSResolver.fake(
      system: ["good.test": ["127.0.0.1"]], service: ["good.test": ["127.0.0.3"]])
    let fetcher = fetcher(resolver, authorities: server.authorities)
    #expect(try await get(server.url("good.test"), fetcher) == "127.0.0.1 good.test good.test")
    #expect(resolver.resolve("good.test")?.addresses.map(\.text) == ["127.0.0.1"])
  }

  @Test func aClosedAddressIsPassedOverAndAvoided() async throws {
    let server = try TLSServer.shared.get()
    let resolver = HTTPDNSResolver.fake(system: [:], service: ["good.test": ["127.0.0.4", "127.0.0.1"]])
    let fetcher = fetcher(resolver, authorities: server.authorities)
    #expect(try await get(server.url("good.test"), fetcher) == "127.0.0.1 good.test good.test")
    #expect(resolver.resolve("good.test")?.addresses.map(\.text) == ["127.0.0.1"])
  }

  /// One takes no connection, the other says nothing: neither is waited for. They lost, which isn't to fail.
  @Test(arguments: ["127.0.0.5", "127.0.0.6"]) func aSilentAddressLosesTheRace(silent: String) async throws {
    let server = try TLSServer.shared.get()
    let resolver = HTTPDNSResolver.fake(system: [:], service: ["good.test": [silent, "127.0.0.1"]])
    let fetcher = fetcher(resolver, authorities: server.authorities, races: true)
    #expect(try await get(server.url("good.test"), fetcher) == "127.0.0.1 good.test good.test")
    #expect(resolver.resolve("good.test")?.addresses.map(\.text) == ["127.0.0.1", silent])
  }

  /// The system's own answer is the last resort.
  @Test func theSystemIsTheLastResort() async throws {
    let server = SocketServer { _ in .answer(body: "here".utf8) }
    let fetcher = fetcher(.fake(system: [:], service: ["localhost": ["127.0.0.4"]]))
    #expect(try await get("http://localhost:\(server.port)/", fetcher) == "here")
  }

  /// A page that goes waits for no connection.
  @Test(arguments: ["127.0.0.5", "127.0.0.6"]) func aRequestEndsWhileItConnects(silent: String) async throws {
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
  @Test func writingToWhoIsGoneEndsNoProcess() async throws {
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

  /// Of those that lost no descriptor stays, however long they would have waited.
  @Test func whatLostIsClosed() async throws {
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
      let dialer = AddressDialer(resolver, connectSeconds: 300, addressMilliseconds: Self.ages)
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
