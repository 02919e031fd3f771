import HTTP
import DeviceTestSupport
import SocketServer
import System
import Testing
import XCacheDevice

@testable import DeviceLinux
@testable import HTTPClient
@testable import HTTPDNS

/// Connections of one network say nothing of the next one, and aren't used there.
@Suite struct NewConnectionTests {
  /// A connection that was begun on the last network says nothing of an address on this one.
  @Test(arguments: [false, true]) func connectionsAreOfTheirNetwork(changes: Bool) throws {
    let names = FakeNames(["m.test": ["192.0.2.1", "192.0.2.2"]], seconds: 600)
    var settings = HTTPDNSSettings(nil)
    settings.headStart = 60_000
    settings.timeout = 60_000
    let resolver = HTTPDNSResolver(
      settings, system: FakeNames(), service: names, now: Clock.continuousMilliseconds)
    let asked = Locked(0)
    let request = ResolvedRequest(resolver: resolver, request: HTTPRequest("GET", "https://m.test/"))
    let reply = try request.send(isUntouched: { true }) { ask throws(HTTPClientError) in
      let count = asked.withLock { count in
        count += 1
        return count
      }
      if count > 1 { return HTTPReply(HTTPHead(200)) }
      if changes { resolver.networkChanged() }
      ask.routed?(HTTPRoute(address: "192.0.2.1", isNew: true, connectMilliseconds: 5, isReady: false))
      throw .timedOut(host: "m.test", port: 443)
    }
    // Either way it is tried again.
    #expect(reply.status == 200 && asked.withLock { $0 } == 2)
    let addresses = resolver.resolve("m.test")?.addresses.map(\.text)
    #expect(addresses == (changes ? ["192.0.2.1", "192.0.2.2"] : ["192.0.2.2"]))
  }

  @Test func questionsTakeNewConnections() throws {
    let server = SocketServer { _ in .answer(body: "yes".utf8) }
    let exchange = CurlServiceExchange()
    let request = ServiceRequest(
      url: server.url, accept: "*/*", address: nil, milliseconds: 60_000, limit: 100)
    for connections in 1...2 {
      for _ in 0..<3 { _ = try exchange.get(request) }
      #expect(server.connections == connections)
      exchange.networkChanged()
    }
  }

  @Test(arguments: [false, true]) func downloadsTakeNewConnections(isOneOfMany: Bool) throws {
    let server = SocketServer { _ in .answer(body: "yes".utf8) }
    let transport = CurlTransport()
    var request = TransportRequest(server.url, limit: 100)
    request.isOneOfMany = isOneOfMany
    for connections in 1...2 {
      for _ in 0..<3 { _ = try transport.get(request) { _ in true } }
      #expect(server.connections == connections)
      transport.networkChanged()
    }
  }
}
