import HTTP
import Linux
import Origin
import Server
import System
import TLS
import Values

/// The options of `serve` for looking at releases in the console: a listener of its own, for origins of their own.
struct ServePreview {
  static let options: [Option] = [
    .value(
      "preview-listen", "HOST:PORT",
      "let people look at releases in the console, which shows them from this address (default: off)"),
    .value(
      "preview-url", "URL",
      "with --preview-listen: where browsers find it, with * for the first label of the host, such as "
        + "https://*.preview.example.com (default on loopback: http://*.localhost:PORT)"),
  ]

  /// Open connections, and those of one address: each may hold a few megabytes, whatever a release has in it.
  private static let connections = 256
  private static let connectionsPerAddress = 64

  private let server: Server
  /// Where browsers find it.
  let address: PreviewAddress

  /// Listens for previews; nil if they are off. Nothing is answered before `start`.
  /// - Parameters:
  ///   - arguments: the command line's.
  ///   - main: the configuration of the other listener.
  ///   - console: the origin of the console's URL, if it is known.
  init?(_ arguments: Arguments, beside main: ServerConfiguration, console: String?) throws {
    let given = try Self.address(arguments)
    guard let text = try arguments.value("preview-listen") else {
      guard given != nil else { return nil }
      throw UsageError(
        "\(arguments.source("preview-url")) needs --preview-listen HOST:PORT, such as 127.0.0.1:8081")
    }
    let place = arguments.source("preview-listen")
    guard let listen = SocketAddress(text) else {
      throw UsageError(
        "\(place) \(text) is not an address and port such as 127.0.0.1:8081, [::1]:8081 or 0.0.0.0:8081")
    }
    guard given != nil || listen.isLoopback else {
      throw UsageError(
        "\(place) \(text) needs --preview-url URL: where browsers find it, such as https://*.preview.example.com"
      )
    }
    var configuration = ServerConfiguration(address: listen)
    configuration.tls = try Self.tls(given, listen, main, arguments)
    configuration.name = main.name
    configuration.workers = 2
    configuration.lanes = []
    configuration.workerQueue = 256
    configuration.trustedProxies = main.trustedProxies
    configuration.timeouts = main.timeouts
    configuration.limits = main.limits
    configuration.limits.connections = min(Self.connections, main.limits.connections)
    configuration.limits.connectionsPerAddress = min(
      Self.connectionsPerAddress, main.limits.connectionsPerAddress)
    configuration.limits.refused = min(16, main.limits.refused)
    server = try ServeCommand.listen(configuration, option: "preview-listen")
    address = given ?? PreviewAddress(localPort: server.address.port)
    try Self.refuseConsole(console, address, arguments)
  }

  /// The listener's descriptors besides those of its connections.
  static let descriptors = 64 + connections

  func start(_ origin: Origin) throws {
    try server.start { _ in
      guard let handler = origin.makePreviewHandler() else { fatalError("previews are off") }
      return handler
    }
  }

  /// Ends it at once: whoever looks at a page can look again.
  func stop() { server.stop(graceSeconds: 1) }

  /// The line of the log.
  var message: String {
    "previews of releases at \(address.pattern), served on \(server.address)"
  }

  private static func address(_ arguments: Arguments) throws -> PreviewAddress? {
    guard let text = try arguments.value("preview-url") else { return nil }
    let place = arguments.source("preview-url")
    do throws(PreviewAddress.Fault) {
      return try PreviewAddress(text)
    } catch {
      switch error {
      case .form:
        throw UsageError(
          "\(place) \(text) must have * as the first label of its host and no path, such as https://*.preview.example.com: each "
            + "preview gets an origin of its own")
      case .plain:
        throw UsageError(
          "\(place) \(text) must begin with https://: over http, others on the way could read what isn't released yet (http is "
            + "possible below localhost alone, such as http://*.localhost:8081)")
      }
    }
  }

  /// Returns the server's certificate where it covers the hosts of previews.
  /// - Throws: `UsageError` if neither it nor a proxy can make previews https.
  private static func tls(
    _ address: PreviewAddress?, _ listen: SocketAddress, _ main: ServerConfiguration, _ arguments: Arguments
  ) throws -> TLSAcceptor? {
    guard let address, address.scheme == "https" else { return nil }
    if let tls = main.tls, tls.credentials.covers(host: address.host(of: "preview")) { return tls }
    // In front of it is a proxy that has the certificate.
    if listen.isLoopback || !main.trustedProxies.isEmpty { return nil }
    let name = "*\(address.suffix)"
    throw UsageError(
      main.tls == nil
        ? "\(arguments.source("preview-url")) is https: give --tls-cert and --tls-key with a certificate for \(name), or let a "
          + "proxy have it: --preview-listen on loopback, or --trust-proxy with the proxy's address"
        : "the certificate of --tls-cert isn't for \(name), which \(arguments.source("preview-url")) needs: get one that is, or let "
          + "a proxy have it: --preview-listen on loopback")
  }

  /// Refuses a console below the name of previews: what is shown would share its site, if not its origin.
  private static func refuseConsole(_ console: String?, _ address: PreviewAddress, _ arguments: Arguments)
    throws
  {
    guard let console, let url = try? ResourceURL("\(console)/"),
      address.covers(host: url.host) || ".\(url.host)" == address.suffix, url.host != "localhost"
    else { return }
    throw UsageError(
      "\(arguments.source("preview-url")): the console is at \(url.host), which previews must not share a name with; give them "
        + "one of their own, such as https://*.xcache-preview.com")
  }
}
