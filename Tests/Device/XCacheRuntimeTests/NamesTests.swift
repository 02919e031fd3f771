import DeviceTestSupport
import HTTPDNS
import System
import Testing
import TestSupport
import XCacheDevice

@testable import XCacheRuntime

/// Name resolution in the runtime: the hosts of held files are resolved at start, and the policy can turn it off.
@Suite struct NamesTests {
  /// A vendor's service that records the requests.
  private final class Service: ServiceExchange {
    private let urls = Monitor<[String]>([])

    func get(_ request: ServiceRequest) throws(LookupError) -> [UInt8] {
      urls.broadcasting { $0.append(request.url) }
      return Array(#"{"dns":[{"host":"m.test","ips":["192.0.2.1"],"ttl":600}]}"#.utf8)
    }

    /// Waits for the first request.
    var first: String { urls.waiting { $0.first } }
    var count: Int { urls.withLock { $0.count } }
  }

  private func settings(_ scratch: Scratch, _ service: Service) throws -> RuntimeSettings {
    var settings = RuntimeSettings(
      DeviceSettings(
        folder: "\(scratch.path)/device", server: FakeOrigin.server, app: "shop",
        hosts: ["m.test", "*.m.test"]))
    settings.names = try HTTPDNSResolver(
      HTTPDNSSettings(.vendor(url: "https://192.0.2.9/1")), exchange: service)
    return settings
  }

  private func origin() throws -> FakeOrigin {
    let origin = FakeOrigin()
    try origin.publish([
      "https://m.test/index.html": [1], "https://m.test/a.js": [2], "https://cdn.m.test:8443/b.js": [3],
      "https://other.test/c.js": [4],
    ])
    return origin
  }

  @Test func hostsOfHeldFilesAreResolvedAtStart() async throws {
    let scratch = try Scratch()
    let origin = try origin()
    let first = try await Runtime(try settings(scratch, Service()), transport: origin)
    await first.handle(.launch)
    await first.close()
    let service = Service()
    let runtime = try await Runtime(try settings(scratch, service), transport: origin)
    #expect(service.first == "https://192.0.2.9/1/resolve?host=cdn.m.test,m.test&query=4,6")
    await runtime.close()
  }

  /// Everything that keeps connections: requests of pages, downloads, and the requests of live proxies.
  @Test func networkChangesReachAllTransports() async throws {
    struct Downloads: Transport {
      let inner: FakeOrigin
      let changes = Monitor(0)

      func get(
        _ request: TransportRequest, receive: (RawSpan) -> Bool
      ) throws(TransportError) -> TransportReply {
        try inner.get(request, receive: receive)
      }

      func networkChanged() { changes.broadcasting { $0 += 1 } }
    }
    let scratch = try Scratch()
    let (pages, proxied, gone) = (FakePageTransport(), FakePageTransport(), FakePageTransport())
    var settings = try settings(scratch, Service())
    settings.fetcher = PageFetcher(pages, cookies: FakeCookies([]))
    let downloads = Downloads(inner: try origin())
    let runtime = try await Runtime(settings, transport: downloads)
    _ = PageProxy(runtime, transport: gone, network: FakeProxyNetwork())
    let proxy = PageProxy(runtime, transport: proxied, network: FakeProxyNetwork())
    runtime.networkChanged()
    withExtendedLifetime(proxy) {
      #expect(pages.networks == 1 && proxied.networks == 1 && gone.networks == 0)
      #expect(downloads.changes.withLock { $0 } == 1)
    }
    await runtime.close()
  }

  @Test func policyTurnsItOffAndOn() async throws {
    let scratch = try Scratch()
    let origin = try origin()
    let settings = try settings(scratch, Service())
    let names = try #require(settings.names)
    let runtime = try await Runtime(settings, transport: origin)
    await runtime.handle(.launch)
    #expect(!names.isOff)
    for (version, isOff) in [(2, true), (3, false)] {
      let member = isOff ? #""httpdns":false,"# : ""
      origin.serve(
        Array(
          #"{"code":200,"data":{\#(member)"bypass":[],"intercept":true,"scripts":[],"version":"\#(version)"}}"#
            .utf8),
        at: "\(FakeOrigin.server)/policy.json?app=shop&channel=online")
      origin.say(#","policy":"\#(version)""#)
      await runtime.update(force: true)
      #expect(names.isOff == isOff)
      #expect((names.resolve("m.test") == nil) == isOff)
    }
    await runtime.close()
    // The next start has the policy before its first request.
    #expect(runtime.version != "0")
  }
}
