#if canImport(WebKit)
  import Foundation
  import Network
  import Security
  import System
  import WebKit
  import XCacheRuntime

  /// The settings that an app starts the engine with.
  @MainActor
  public struct WebHostSettings {
    /// How pages reach the device.
    public enum Way: Sendable {
      /// A proxy inside the app: pages keep their real URLs. Needs iOS 17 or macOS 14; earlier systems use `scheme`.
      case proxy
      /// A custom scheme, for engines without a proxy: pages have `xcache-https:` URLs, and some features of the web don't
      /// work (docs/guide-ios.md).
      case scheme
    }

    /// Where cookies and storage are kept.
    public var store: WKWebsiteDataStore = .default()
    /// How pages reach the device.
    public var way = Way.proxy
    /// Sends requests on to their servers.
    public var transport: any PageTransport = URLSessionPageTransport()
    /// The engine's cookies; pass the same object to the runtime's `PageFetcher`, which is created before this host.
    public var cookies = WebCookies()
    /// TLS towards the engine, and connections to tunnel.
    public var network = NetworkProxyNetwork()

    /// Creates the settings that suit most apps.
    public init() {}
  }

  /// The engine of an app: its data store with cookies, and the way in which its pages reach the device.
  @MainActor
  public final class WebHost {
    /// Answers page requests; if nil, pages come from the network.
    public let runtime: Runtime?
    /// The cookies of pages and of the runtime's own requests.
    public let cookies: WebCookies
    let store: WKWebsiteDataStore
    let proxy: PageProxy?
    let scheme: PageScheme?
    private let hosts: [String]
    private let network: NetworkProxyNetwork
    private let listener: NetworkProxyListener?
    /// The port at which the engine expects the proxy; nil if it has none.
    private var port: UInt16?
    private var watch: Task<Void, Never>?
    /// The policy's scripts, whose signatures have been checked.
    private(set) var policyScripts: [PageScript] = []
    /// The pages' user agent; nil until the first page was asked.
    var userAgent: String?

    /// Starts the engine and its proxy, which is set before anything is loaded. If the proxy can't listen, pages come from
    /// the network; each return to the foreground tries again.
    ///
    /// - Parameters:
    ///   - runtime: answers page requests; if nil, pages come from the network.
    ///   - hosts: the same as in `DeviceSettings.hosts`; only connections to these go to the proxy.
    ///   - settings: the engine's settings.
    public init(_ runtime: Runtime?, hosts: [String], _ settings: WebHostSettings = WebHostSettings()) async {
      self.runtime = runtime
      self.hosts = hosts
      (store, cookies, network) = (settings.store, settings.cookies, settings.network)
      cookies.attach(store.httpCookieStore)
      let isProxy = settings.way == .proxy && Self.hasProxies
      // Used for the scheme as well: it knows which pages are open.
      proxy = runtime.map { PageProxy($0, transport: settings.transport, network: settings.network) }
      listener = isProxy ? proxy.map { NetworkProxyListener($0) } : nil
      let cookies = cookies
      scheme =
        isProxy
        ? nil
        : runtime.map {
          PageScheme($0, fetcher: PageFetcher(settings.transport, cookies: cookies), cookies: cookies)
        }
      guard listener != nil, let events = runtime?.events else { return }
      await startProxy()
      // Another version or policy may have other hosts.
      watch = Task { @MainActor [weak self] in
        for await event in events {
          switch event {
          case .switched, .policyChanged: await self?.trustOwnCertificates()
          default: break
          }
        }
      }
    }

    deinit {
      watch?.cancel()
      listener?.stop()
    }

    /// Call this when the app returns to the foreground, before pages load anything. The system may take the sockets of a
    /// suspended app; the proxy then listens again, on the same port if it is free, otherwise the engine is told of another
    /// one. Pages that are shown stay as they are.
    public func enteredForeground() async {
      guard let listener else { return }
      guard await Self.offMain({ listener.answers() }) == false else { return }
      network.stop()
      await startProxy()
    }

    private func startProxy() async {
      guard let listener, let proxy else { return }
      let port = await Self.offMain { () -> UInt16? in
        try? listener.start()
        return listener.port
      }
      await trustOwnCertificates()
      guard port != self.port else { return }
      self.port = port
      // Only set if they changed, since setting them may end running loads.
      if #available(iOS 17, macOS 14, *) {
        store.proxyConfigurations = port.flatMap { Self.configuration(proxy, $0, hosts) }.map { [$0] } ?? []
      }
    }

    /// Whether the system lets an app set a proxy for its pages.
    private static var hasProxies: Bool {
      if #available(iOS 17, macOS 14, *) { true } else { false }
    }

    @available(iOS 17, macOS 14, *)
    private static func configuration(
      _ proxy: PageProxy, _ port: UInt16, _ hosts: [String]
    ) -> ProxyConfiguration? {
      guard let port = NWEndpoint.Port(rawValue: port) else { return nil }
      var made = ProxyConfiguration(
        httpCONNECTProxy: .hostPort(host: .ipv4(.loopback), port: port), tlsOptions: nil)
      made.applyCredential(username: PageProxy.user, password: proxy.password)
      // A dead proxy may cost speed, never a page: the engine then connects by itself, to the server's own certificate.
      made.allowFailover = true
      // Connections to other hosts don't pass through here at all. A domain includes all its subdomains; the device decides
      // which are answered.
      made.matchDomains = hosts.map { $0.hasPrefix("*.") ? String($0.dropFirst(2)) : $0 }
      return made
    }

    /// Lets the proxy terminate TLS for each host that it can answer for, once there is a certificate to show. Until then
    /// connections to the host are tunnelled unread.
    func trustOwnCertificates() async {
      guard let proxy, listener != nil else { return }
      let network = network
      await Self.offMain {
        for host in proxy.hosts where network.certificate(for: host) != nil { proxy.addTrustedHost(host) }
      }
    }

    /// Runs blocking system calls on a thread that may block.
    private static func offMain<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: body()) }
      }
    }

    // MARK: - For pages

    /// Whether the device would answer a page at this URL.
    func answers(_ url: String) -> Bool { proxy?.answers(url) ?? false }

    /// Fetches the current scripts of the policy.
    func takeScripts() async { policyScripts = await runtime?.scripts() ?? [] }

    /// Returns the URL to load a page by.
    func address(of url: String) -> String {
      scheme != nil && answers(url) ? CustomScheme.inPage(url) ?? url : url
    }

    /// The names of the app's hosts, for the scripts of the scheme.
    var hostNames: String { hosts.joined(separator: " ") }

    /// Whether a certificate that the engine asks about is this device's own for that host: the same bytes, the only one in
    /// the chain, and of a host that is answered for. The system evaluates all others, as it would without us.
    func isOwn(_ trust: SecTrust, of host: String) -> Bool {
      guard let proxy, proxy.hosts.contains(host), let own = network.certificate(for: host),
        let chain = SecTrustCopyCertificateChain(trust), CFArrayGetCount(chain) == 1,
        let first = CFArrayGetValueAtIndex(chain, 0)
      else { return false }
      let certificate = Unmanaged<SecCertificate>.fromOpaque(first).takeUnretainedValue()
      return [UInt8](SecCertificateCopyData(certificate)) == own
    }
  }
#endif
