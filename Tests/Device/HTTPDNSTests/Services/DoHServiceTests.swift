import DeviceTestSupport
import System
import Testing

@testable import HTTPDNS

/// DNS over HTTPS sends a query for each kind of address, of which one may hang.
@Suite struct DoHServiceTests {
  /// Answers one kind at once, and the other one after the test, or after a timeout.
  private final class HalfHanging: ServiceExchange {
    let hanging: DNSQuery.Kind
    let isOver = Monitor(false)

    init(_ hanging: DNSQuery.Kind) { self.hanging = hanging }

    func get(_ request: ServiceRequest) throws(LookupError) -> [UInt8] {
      let isV6 = request.url.hasSuffix(DoHServiceTests.question(.v6))
      let kind = isV6 ? DNSQuery.Kind.v6 : .v4
      if kind == hanging { isOver.waiting(for: .seconds(30)) { $0 ? () : nil } }
      var message = DNSMessage(DNSQuery(host: .of("m.test"), kind: kind))
      let data = IPAddress(isV6 ? "2001:db8::1" : "192.0.2.1")?.bytes ?? []
      message.records = [DNSMessage.record(type: kind.rawValue, data)]
      return message.bytes
    }
  }

  private static func question(_ kind: DNSQuery.Kind) -> String {
    let text = Base64.encode(DNSQuery(host: .of("m.test"), kind: kind).bytes)
    return "?dns=" + text.replacing("+", with: "-").replacing("/", with: "_").filter { $0 != "=" }
  }

  @Test(arguments: [(DNSQuery.Kind.v4, "2001:db8::1"), (.v6, "192.0.2.1")])
  func oneHangingQueryDoesNotDelayTheOther(hanging: DNSQuery.Kind, address: String) throws {
    let exchange = HalfHanging(hanging)
    defer { exchange.isOver.broadcasting { $0 = true } }
    let settings = HTTPDNSSettings(.dnsOverHTTPS(url: "https://dns.test/dns-query"))
    let service = try #require(try settings.source(exchange, now: Clock.unixMilliseconds))
    #expect(try service.lookUp(HostName.of("m.test")).addresses.map(\.text) == [address])
  }
}
