import Manifests

/// Which service is asked for addresses, and when.
public struct HTTPDNSSettings: Sendable {
  /// The language that a service speaks.
  public enum Service: Hashable, Sendable {
    /// DNS over HTTPS (RFC 8484): `https://dns.example.com/dns-query`.
    case dnsOverHTTPS(url: String)
    /// The vendors' own form: `https://192.0.2.1/ACCOUNT`, to which `/d?host=…` or `/resolve?host=…` is added. With a
    /// `secret` questions are signed (`/sign_d`, MD5 of host, secret and time). `list` is the path that gives the addresses
    /// of the service, such as `ss`; it is asked for at the start, on another network and every 8 hours.
    case vendor(url: String, secret: String? = nil, list: String? = nil)
  }

  /// Whom a host is asked of first.
  public enum Order: String, Hashable, Sendable, CaseIterable {
    /// The service where the system fails, or is late.
    case systemFirst = "system-first"
    /// The system where the service fails, or is late.
    case serviceFirst = "service-first"
    /// Both at once.
    case race
  }

  /// The service; nil: the system alone, with a limit on its time and a memory of what failed.
  public var service: Service?
  /// The service's addresses, so that nobody has to be asked where it is.
  public var bootstrap: [String]
  /// Whom a host is asked of first.
  public var order: Order
  /// The file in which answers are kept from one start to the next; nil: they aren't.
  public var file: String?
  /// Milliseconds after which whoever is asked first counts as late.
  public var headStart = 400
  /// Milliseconds that a lookup takes at most. Then the system connects as it always does.
  public var timeout = 3_000

  /// Settings for a service that is asked first.
  public init(
    _ service: Service?, bootstrap: [String] = [], order: Order = .serviceFirst, file: String? = nil
  ) {
    self.service = service
    self.bootstrap = bootstrap
    self.order = order
    self.file = file
  }
}

/// Why a resolver can't be made.
public enum HTTPDNSError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Thrown when the service's URL is none, or one of DNS over HTTPS isn't https.
  case badURL(String)
  /// Thrown when a bootstrap address is none.
  case badAddress(String)

  /// What is wrong and what to do.
  public var description: String {
    switch self {
    case .badURL(let text):
      "\"\(text)\" is not a DNS service URL such as https://dns.example.com/dns-query"
    case .badAddress(let text): "\"\(text)\" is not an IP address such as 192.0.2.1 or 2001:db8::1"
    }
  }
}

extension HTTPDNSSettings {
  /// - Throws: `badURL`, `badAddress`.
  func source(
    _ exchange: any ServiceExchange, now: @escaping @Sendable () -> Int64
  ) throws(HTTPDNSError) -> (any NameSource)? {
    guard let service else { return nil }
    var addresses: [IPAddress] = []
    for text in bootstrap {
      guard let address = IPAddress(text) else { throw .badAddress(text) }
      addresses.append(address)
    }
    switch service {
    case .dnsOverHTTPS(let url):
      let base = try Self.base(url)
      guard base.text.hasPrefix("https:") else { throw .badURL(url) }
      return DoHService(endpoint: ServiceEndpoint(base, addresses, exchange, milliseconds: timeout))
    case .vendor(let url, let secret, let list):
      let endpoint = ServiceEndpoint(try Self.base(url), addresses, exchange, milliseconds: timeout)
      return VendorService(endpoint: endpoint, secret: secret, list: list, now: now)
    }
  }

  private static func base(_ url: String) throws(HTTPDNSError) -> BaseURL {
    guard let base = try? BaseURL(url) else { throw .badURL(url) }
    return base
  }
}
