import Values

/// The settings of a resolver: which service to ask for addresses, and when.
public struct HTTPDNSSettings: Sendable {
  /// A service and the protocol that it speaks.
  public enum Service: Hashable, Sendable {
    /// DNS over HTTPS (RFC 8484): `https://dns.example.com/dns-query`.
    case dnsOverHTTPS(url: String)
    /// The vendors' own protocol: `https://192.0.2.1/ACCOUNT`, to which `/d?host=…` or `/resolve?host=…` is added. With a
    /// `secret`, queries are signed (`/sign_d`, MD5 of host, secret and time). `list` is the path that returns the
    /// service's addresses, such as `ss`; it is fetched at the start, after a change of networks and every 8 hours.
    case vendor(url: String, secret: String? = nil, list: String? = nil)
  }

  /// The order in which the sources are asked.
  public enum Order: String, Hashable, Sendable, CaseIterable {
    /// The system first; the service if the system fails or is late.
    case systemFirst = "system-first"
    /// The service first; the system if the service fails or is late.
    case serviceFirst = "service-first"
    /// Both at once.
    case race
  }

  /// The service; if nil, only the system is asked, with a time limit and a record of failed addresses.
  public var service: Service?
  /// The service's addresses, so that its own name needn't be resolved.
  public var bootstrap: [String]
  /// The order in which the sources are asked.
  public var order: Order
  /// The file that keeps answers between starts; nil for none.
  public var file: String?
  /// Milliseconds after which the first source counts as late.
  public var headStart = 400
  /// The longest time that a lookup takes, in milliseconds. After that the system connects as usual.
  public var timeout = 3_000

  /// Creates settings; by default the service is asked first.
  public init(
    _ service: Service?, bootstrap: [String] = [], order: Order = .serviceFirst, file: String? = nil
  ) {
    self.service = service
    self.bootstrap = bootstrap
    self.order = order
    self.file = file
  }
}

/// The reason why a resolver can't be created.
public enum HTTPDNSError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Thrown when the service's URL is invalid, or a DNS over HTTPS URL isn't https.
  case badURL(String)
  /// Thrown when a bootstrap address is invalid.
  case badAddress(String)

  /// The error message.
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
