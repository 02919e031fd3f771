import DeviceTestSupport
import SocketServer
import System
import Testing
import XCacheDevice

@testable import DeviceLinux
@testable import HTTPDNS

/// Requests to a resolved address, in which everything else stays the name's.
@Suite(.enabled(if: TLSServer.isPossible)) struct ResolvedTransportTests {
  private func resolver(system: [String: [String]], service: [String: [String]]) -> HTTPDNSResolver {
    .fake(system: system, service: service)
  }

  private func get(_ url: String, _ transport: CurlTransport, isOneOfMany: Bool = false) throws -> String {
    var body: [UInt8] = []
    var request = TransportRequest(url, limit: 1_000)
    request.isOneOfMany = isOneOfMany
    _ = try transport.get(request) { bytes in
      body += bytes.withUnsafeBytes { Array($0) }
      return true
    }
    return String(decoding: body, as: UTF8.self)
  }

  private func transport(_ server: TLSServer, _ resolver: HTTPDNSResolver?) -> CurlTransport {
    CurlTransport(10, 30, 6, authorities: server.authorities, resolver: resolver)
  }

  /// One address, two names: TLS uses the name, and the name's certificate is checked.
  @Test(arguments: [false, true]) func namesShareAnAddress(isOneOfMany: Bool) throws {
    let server = try TLSServer.shared.get()
    let resolver = resolver(
      system: [:], service: ["good.test": ["127.0.0.1"], "second.test": ["127.0.0.1"]])
    let transport = transport(server, resolver)
    for host in ["good.test", "second.test", "good.test"] {
      #expect(try get(server.url(host), transport, isOneOfMany: isOneOfMany) == "127.0.0.1 \(host) \(host)")
    }
  }

  /// Another certificate than the host's is never accepted.
  @Test(arguments: ["wrong.test", "expired.test"]) func certificatesAreChecked(host: String) throws {
    let server = try TLSServer.shared.get()
    let resolver = resolver(system: [host: ["127.0.0.2"]], service: [host: ["127.0.0.1"]])
    let error = #expect(throws: TransportError.self) {
      try get(server.url(host), transport(server, resolver))
    }
    #expect(error?.kind == .unreachable)
    // Both addresses were tried, and are avoided now.
    #expect(resolver.resolve(host) == nil)
  }

  /// A wrong answer of the service or the system costs a connection.
  @Test(arguments: [false, true]) func poisonedAnswersAreDetected(isOneOfMany: Bool) throws {
    let server = try TLSServer.shared.get()
    let resolver = resolver(system: ["good.test": ["127.0.0.1"]], service: ["good.test": ["127.0.0.3"]])
    let transport = transport(server, resolver)
    #expect(
      try get(server.url("good.test"), transport, isOneOfMany: isOneOfMany) == "127.0.0.1 good.test good.test"
    )
    #expect(resolver.resolve("good.test")?.addresses.map(\.text) == ["127.0.0.1"])
  }

  @Test func closedAddressesAreSkippedAndAvoided() throws {
    let server = try TLSServer.shared.get()
    let resolver = resolver(system: [:], service: ["good.test": ["127.0.0.4", "127.0.0.1"]])
    #expect(try get(server.url("good.test"), transport(server, resolver)) == "127.0.0.1 good.test good.test")
    #expect(resolver.resolve("good.test")?.addresses.map(\.text) == ["127.0.0.1"])
  }

  /// The address accepts connections and sends nothing.
  @Test func silentAddressesAreAvoided() throws {
    let server = try TLSServer.shared.get()
    let resolver = resolver(system: [:], service: ["good.test": ["127.0.0.5", "127.0.0.1"]])
    #expect(try get(server.url("good.test"), transport(server, resolver)) == "127.0.0.1 good.test good.test")
    #expect(resolver.resolve("good.test")?.addresses.map(\.text) == ["127.0.0.1"])
  }

  /// The addresses that libcurl was given before are removed again.
  @Test(arguments: [false, true]) func systemIsTheLastResort(isOneOfMany: Bool) throws {
    let server = SocketServer { _ in .answer(body: "here".utf8) }
    let resolver = resolver(system: [:], service: ["localhost": ["127.0.0.4"]])
    let transport = CurlTransport(resolver: resolver)
    for _ in 0..<2 {
      #expect(try get("http://localhost:\(server.port)/", transport, isOneOfMany: isOneOfMany) == "here")
    }
  }

  /// A body that has begun isn't fetched from another address.
  @Test func truncatedAnswersAreNotRepeated() throws {
    let server = SocketServer { _ in
      [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".utf8)), .close]
    }
    let resolver = resolver(system: [:], service: ["good.test": ["127.0.0.1"]])
    let error = #expect(throws: TransportError.self) {
      try get("http://good.test:\(server.port)/", CurlTransport(resolver: resolver))
    }
    #expect(error?.kind == .broken && server.connections == 1)
    #expect(resolver.resolve("good.test")?.source == .cache)
  }

  /// DNS over HTTPS end to end: the service is found by its bootstrap address, and its certificate is checked.
  @Test func dnsOverHTTPS() throws {
    let server = try TLSServer.shared.get()
    try server.setZone(#"{"good.test":["127.0.0.2","::ffff:127.0.0.2"],"second.test":["127.0.0.1"]}"#)
    let exchange = CurlServiceExchange(authorities: server.authorities)
    var settings = HTTPDNSSettings(
      .dnsOverHTTPS(url: server.url("dns.test") + "dns-query"), bootstrap: ["127.0.0.1"])
    settings.timeout = 20_000
    settings.headStart = 20_000
    let resolver = try HTTPDNSResolver(settings, exchange: exchange)
    #expect(
      try get(server.url("second.test"), transport(server, resolver)) == "127.0.0.1 second.test second.test")
    let found = try #require(resolver.resolve("good.test"))
    #expect(Set(found.addresses.map(\.text)) == ["127.0.0.2", "::ffff:7f00:2"] && found.source == .service)
    #expect(resolver.inspect("no.test").allSatisfy { $0.outcome == .failure(.noAddress) })

    // Another server at the service's address has no certificate for its name.
    settings.bootstrap = ["127.0.0.3"]
    // Another exchange, since an open connection to the name would be reused.
    let other = CurlServiceExchange(authorities: server.authorities)
    let poisoned = try HTTPDNSResolver(settings, exchange: other).inspect("good.test").last
    guard case .failure(.unreachable(let reason))? = poisoned?.outcome else {
      Issue.record("\(String(describing: poisoned))")
      return
    }
    #expect(reason.contains("no secure connection to dns.test"))

    try server.setZone(#"{"hang":[]}"#)
    settings = HTTPDNSSettings(settings.service, bootstrap: ["127.0.0.1"])
    settings.timeout = 300
    settings.headStart = 50
    #expect(try HTTPDNSResolver(settings, exchange: exchange).resolve("third.test") == nil)
  }
}
