import DeviceLinux
import HTTPDNS
import System
import XCacheDevice

/// Time to the first byte of one small file, without a resolver and with one of each order; each time anew.
struct NamesBench {
  let host: String
  let port: String
  let authorities: String

  func run() {
    line("plain", nil)
    for order in HTTPDNSSettings.Order.allCases {
      var settings = HTTPDNSSettings(
        .dnsOverHTTPS(url: "https://dns.test:\(port)/dns-query"), bootstrap: ["127.0.0.1"])
      settings.order = order
      let exchange = CurlServiceExchange(authorities: authorities)
      line(order.rawValue, try? HTTPDNSResolver(settings, exchange: exchange))
    }
  }

  private func line(_ name: String, _ resolver: HTTPDNSResolver?) {
    let transport = CurlTransport(10, 30, 6, authorities: authorities, resolver: resolver)
    let times = (0..<2).map { _ -> String in
      let start = Clock.monotonicNanoseconds()
      var first: Int?
      let reply = try? transport.get(
        TransportRequest("https://\(host):\(port)/", limit: 1_000),
        begin: { _ in
          first = NetworkBench.milliseconds(since: start)
          return true
        }, receive: { _ in true })
      let time = first ?? NetworkBench.milliseconds(since: start)
      return reply == nil ? "none after \(time)" : "\(time)"
    }
    print("\(name)\t\(times.joined(separator: "\t"))")
  }
}
