import DeviceLinux
import HTTPClient
import HTTPDNS
import System
import Values

/// `xcache device dns HOST`: to which addresses a device would connect, who returns them, and how long each step takes.
enum DeviceNames {
  static let notes = """
    dns asks the system and the DNS service, each on its own, and then resolves the host as a device does. --connect
    also sends a request to each address, with the host's name in TLS, certificate and Host, and fails if none of
    them answers. Without --resolver only the system is asked.
    """

  static let options: [Option] = [
    .value(
      "resolver", "URL",
      "the DNS service: DNS over HTTPS (https://dns.example.com/dns-query), or a vendor's with vendor: in front "
        + "(vendor:https://192.0.2.1/ACCOUNT) (dns)"
    ).only("dns"),
    .value("bootstrap", "IP", "an IP address of the DNS service; repeatable (dns)").only("dns"),
    .value(
      "secret", "KEY", environment: "XCACHE_HTTPDNS_SECRET",
      "the key that signs requests to a vendor's service (dns)"
    ).only("dns"),
    .value(
      "order", "ORDER", choices: ["service-first", "system-first", "race"],
      "service-first, system-first or race (dns; default: service-first)"
    ).only("dns"),
    .flag("connect", "also send a request to each address (dns)").only("dns"),
    .value("port", "N", "the port for --connect (dns; default: 443)").only("dns"),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    var host = try arguments.operands("dns", "HOST")[1]
    // The host may be written as a fully qualified name, with a trailing dot.
    if host.hasSuffix(".") { host.removeLast() }
    let settings = try settings(arguments)
    let authorities = try RemoteOrigin.certificates(arguments)
    let port = try arguments.number("port", in: 1...65_535) ?? 443
    let resolver: HTTPDNSResolver
    do {
      resolver = try HTTPDNSResolver(
        settings, exchange: CurlServiceExchange(authorities: authorities))
    } catch {
      throw UsageError("\(error)")
    }
    let reports = resolver.inspect(host)
    guard !reports.isEmpty else { throw UsageError("\(host) is not a host name") }
    let start = Clock.monotonicNanoseconds()
    let found = resolver.resolve(host)
    let time = milliseconds(since: start)
    let connections =
      arguments.has("connect") ? (found?.addresses ?? []).map { Connection(host, port, $0, authorities) } : []
    let isReached = !arguments.has("connect") || connections.contains { $0.status != nil }
    let failure =
      found == nil
      ? Failure("no address of \(host) was found", name: "no-address")
      : isReached ? nil : Failure("none of the addresses of \(host) answered", name: "unreachable")
    if arguments.has("json") {
      terminal.say(json: json(reports, found, time, connections), failure)
    } else {
      for line in lines(reports, found, time, connections) { terminal.say(line) }
    }
    return failure?.code ?? .done
  }

  private static func settings(_ arguments: Arguments) throws -> HTTPDNSSettings {
    var service: HTTPDNSSettings.Service?
    let resolver = try arguments.value("resolver")
    if resolver == nil, arguments.has("bootstrap") {
      throw UsageError("--bootstrap is an address of the DNS service: also give its URL, with --resolver")
    }
    // In the environment, it may be meant for other commands.
    if arguments.has("secret"), resolver?.hasPrefix("vendor:") != true {
      throw UsageError("--secret signs requests to a vendor's DNS service: also give --resolver vendor:URL")
    }
    if let text = resolver {
      let secret = try arguments.value("secret")
      service =
        text.hasPrefix("vendor:")
        ? .vendor(url: String(text.dropFirst("vendor:".count)), secret: secret) : .dnsOverHTTPS(url: text)
    }
    var settings = HTTPDNSSettings(service, bootstrap: arguments.all("bootstrap"))
    if let text = try arguments.value("order") {
      guard let order = HTTPDNSSettings.Order(rawValue: text) else {
        throw UsageError("--order \(text): expected service-first, system-first or race")
      }
      settings.order = order
    }
    return settings
  }

  static func milliseconds(since start: UInt64) -> Double {
    Double(Clock.monotonicNanoseconds() - start) / 1e6
  }

  /// A test request to one address.
  private struct Connection {
    let address: IPAddress
    private(set) var route: HTTPRoute?
    private(set) var status: Int?
    private(set) var failure: String?

    init(_ host: String, _ port: Int, _ address: IPAddress, _ authorities: String?) {
      self.address = address
      var request = HTTPRequest(
        "HEAD", "https://\(host):\(port)/", timeouts: HTTPTimeouts(connectMilliseconds: 5_000))
      request.addresses = [address.authority]
      request.authorities = authorities
      let taken = Locked<HTTPRoute?>(nil)
      request.routed = { route in taken.withLock { $0 = route } }
      do throws(HTTPClientError) {
        status = try HTTPClient().send(request).status
      } catch {
        failure = "\(error)"
      }
      route = taken.withLock { $0 }
    }

    var message: String {
      guard let status else { return "\(address.text)  \(failure ?? "")" }
      return "\(address.text)  connected in \(route?.connectMilliseconds ?? 0) ms, status \(status)"
    }
  }

  // MARK: - Words

  private static func lines(
    _ reports: [LookupReport], _ found: Resolution?, _ time: Double, _ connections: [Connection]
  ) -> [String] {
    var table = Table(["asked", "ms", "answer"], rightAligned: [1])
    for report in reports { table.add([report.source, one(report.milliseconds), message(report)]) }
    let taken = found.map { "\($0.source.rawValue): " + $0.addresses.map(\.text).joined(separator: " ") }
    table.add(["device", one(time), taken ?? "none: falling back to system DNS"])
    return table.lines + connections.map(\.message)
  }

  private static func message(_ report: LookupReport) -> String {
    switch report.outcome {
    case .success(let answer):
      answer.addresses.map(\.text).joined(separator: " ") + (answer.seconds.map { "  for \($0) s" } ?? "")
    case .failure(let error): "\(error)"
    }
  }

  private static func one(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }

  private static func json(
    _ reports: [LookupReport], _ found: Resolution?, _ time: Double, _ connections: [Connection]
  ) -> JSONValue {
    let asked = reports.map { report -> JSONValue in
      let answer = try? report.outcome.get()
      return [
        "addresses": .strings((answer?.addresses ?? []).map(\.text)),
        "error": answer == nil ? .string(message(report)) : .null,
        "milliseconds": .number(one(report.milliseconds)),
        "source": .string(report.source), "ttl": answer?.seconds.map { .integer($0) } ?? .null,
      ]
    }
    let reached = connections.map { connection -> JSONValue in
      [
        "address": .string(connection.address.text),
        "connectMilliseconds": .integer(connection.route?.connectMilliseconds ?? 0),
        "error": connection.failure.map { .string($0) } ?? .null,
        "status": connection.status.map { .integer($0) } ?? .null,
      ]
    }
    return [
      "addresses": .strings((found?.addresses ?? []).map(\.text)), "asked": .array(asked),
      "connections": .array(reached), "milliseconds": .number(one(time)),
      "source": found.map { .string($0.source.rawValue) } ?? .null,
    ]
  }
}
