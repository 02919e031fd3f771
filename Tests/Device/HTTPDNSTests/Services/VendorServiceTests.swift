import DeviceLinux
import DeviceTestSupport
import SocketServer
import System
import Testing
import TestSupport

@testable import HTTPDNS

/// A vendor's HTTP DNS service, over real sockets.
@Suite struct VendorServiceTests {
  let clock = FakeClock()

  /// Records the requests.
  private final class Vendor: Sendable {
    let paths = Locked<[String]>([])
    let status = Locked(200)
    let list = Locked("{}")
    private let made = Locked<SocketServer?>(nil)

    var server: SocketServer {
      made.withLock { made in
        if let made { return made }
        let server = SocketServer { [paths, status, list] request in
          paths.withLock { $0.append(request.path) }
          if request.path.hasSuffix("/ss") { return .answer(body: list.withLock { $0 }.utf8) }
          let query = request.path.split(separator: "?").last ?? ""
          let value = query.split(separator: "&").first { $0.hasPrefix("host=") }?.dropFirst(5) ?? ""
          let items = value.split(separator: ",").map {
            "{\"host\":\"\($0)\",\"ips\":[\"192.0.2.1\"],\"ttl\":60}"
          }
          let body =
            request.path.contains("resolve?") ? "{\"dns\":[\(items.joined(separator: ","))]}" : items[0]
          return .answer(status.withLock { $0 }, body: body.utf8)
        }
        made = server
        return server
      }
    }

    /// The number of requests whose path contains `part`.
    func count(_ part: String) -> Int { paths.withLock { $0.count { $0.contains(part) } } }
  }

  private func resolver(
    _ server: SocketServer, secret: String? = nil, list: String? = nil, bootstrap: [String] = ["127.0.0.1"],
    file: String? = nil
  ) throws -> HTTPDNSResolver {
    var settings = HTTPDNSSettings(
      .vendor(url: "http://192.0.2.99:\(server.port)/1234", secret: secret, list: list), bootstrap: bootstrap)
    settings.file = file
    settings.timeout = 20_000
    settings.headStart = 20_000
    return HTTPDNSResolver(
      settings, system: FakeNames(), service: try settings.source(CurlServiceExchange(), now: clock.now),
      now: clock.now)
  }

  @Test func requestsForOneHost() throws {
    let vendor = Vendor()
    let resolver = try resolver(vendor.server)
    #expect(resolver.resolve("m.test")?.addresses.map(\.text) == ["192.0.2.1"])
    #expect(vendor.paths.withLock { $0 } == ["/1234/d?host=m.test&query=4,6"])
  }

  @Test func requestsAreSigned() throws {
    let vendor = Vendor()
    let resolver = try resolver(vendor.server, secret: "s3cret")
    #expect(resolver.resolve("m.test")?.source == .service)
    let end = clock.now() / 1000 + 600
    let sign = MD5.of(Array("m.test-s3cret-\(end)".utf8)).hex
    #expect(vendor.paths.withLock { $0 } == ["/1234/sign_d?host=m.test&query=4,6&t=\(end)&s=\(sign)"])
  }

  @Test func requestsForSeveralHosts() throws {
    let vendor = Vendor()
    let resolver = try resolver(vendor.server)
    resolver.prepare((0..<7).map { "h\($0).test" })
    while resolver.state.withLock({ $0.cache.fresh(.of("h6.test"), at: self.clock.now()) }) == nil {
      Clock.sleep(for: .milliseconds(2))
    }
    #expect(
      vendor.paths.withLock { $0 } == [
        "/1234/resolve?host=h0.test,h1.test,h2.test,h3.test,h4.test&query=4,6",
        "/1234/resolve?host=h5.test,h6.test&query=4,6",
      ])
  }

  /// If an address doesn't answer, the next one is asked at once.
  @Test func nextAddressOfTheServiceIsTried() throws {
    let vendor = Vendor()
    let resolver = try resolver(vendor.server, bootstrap: ["127.0.0.9", "127.0.0.1"])
    #expect(resolver.resolve("m.test")?.source == .service)
    #expect(resolver.resolve("n.test")?.source == .service)
    #expect(vendor.count("/d?") == 2)
  }

  @Test func refusalsAreFailures() throws {
    let vendor = Vendor()
    vendor.status.withLock { $0 = 403 }
    #expect(try resolver(vendor.server).resolve("m.test") == nil)
  }

  /// The list is requested at start, on another network and after 8 hours.
  @Test func listOfTheServiceIsRefreshed() throws {
    let vendor = Vendor()
    vendor.list.withLock { $0 = #"{"service_ip":["127.0.0.2"]}"# }
    let resolver = try resolver(vendor.server, list: "ss")
    func wait(for count: Int) { while vendor.count("/ss") < count { Clock.sleep(for: .milliseconds(2)) } }
    for _ in 0..<3 { _ = resolver.resolve("m.test") }
    wait(for: 1)
    resolver.networkChanged()
    wait(for: 2)
    clock.advance(seconds: 8 * 3_600 - 1)
    _ = resolver.resolve("m.test")
    clock.advance(seconds: 1)
    _ = resolver.resolve("n.test")
    wait(for: 3)
    #expect(vendor.count("/ss") == 3)
  }

  /// Also if every host is cached.
  @Test func listOfTheServiceIsRequestedAtEachStart() throws {
    let vendor = Vendor()
    let folder = try Scratch()
    let file = "\(folder.path)/names.json"
    for start in 1...2 {
      let resolver = try resolver(vendor.server, list: "ss", file: file)
      resolver.prepare(["m.test"])
      while try vendor.count("/ss") < start || DurableFile.read(file) == nil {
        Clock.sleep(for: .milliseconds(2))
      }
    }
    #expect(vendor.count("resolve?") == 1)
  }

  @Test(
    arguments: [
      (HTTPDNSSettings.Service.dnsOverHTTPS(url: "http://dns.test/dns-query"), []),
      (.dnsOverHTTPS(url: "dns.test"), []), (.vendor(url: "https://h/?x"), []),
      (.vendor(url: "https://192.0.2.1/1"), ["one.test"]),
    ] as [(HTTPDNSSettings.Service, [String])])
  func invalidSettingsAreRefused(service: HTTPDNSSettings.Service, bootstrap: [String]) {
    #expect(throws: HTTPDNSError.self) {
      try HTTPDNSResolver(HTTPDNSSettings(service, bootstrap: bootstrap), exchange: CurlServiceExchange())
    }
  }
}
