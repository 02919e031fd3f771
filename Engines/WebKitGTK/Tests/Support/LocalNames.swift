import HTTPDNS

/// Every name is on this machine.
package struct LocalNames: Resolver {
  package init() {}
  package func resolve(_ host: String) -> Resolution? {
    IPAddress("127.0.0.1").map { Resolution([$0], from: .service) }
  }
  package func connected(to address: IPAddress, of host: String, after milliseconds: Int) {}
  package func failed(_ address: IPAddress, of host: String) {}
}
