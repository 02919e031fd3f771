#if canImport(WebKit)
  import Foundation
  import Network
  import Security
  import System
  import WebKit
  import XCacheRuntime

  /// What an app tells the engine at its start.
  @MainActor
  public struct WebHostSettings {
    /// How pages reach the device.
    public enum Way: Sendable {
      /// By a proxy inside the app: pages keep their real addresses. Needs iOS 17 or macOS 14; before those it is `scheme`.
      case proxy
      /// By a scheme of the app's own, for engines without a proxy: pages have `xcache-https:` addresses, and some of what pages do
      /// doesn't work (docs/guide-ios.md).
      case scheme
    }

    /// Where cookies and storage are kept.
    public var store: WKWebsiteDataStore = .default()
    /// How pages reach the device.
    public var way = Way.proxy
    /// How requests go on to their servers.
    public var transport: any PageTransport = URLSessionPageTransport()
    /// The engine's cookies: give the same to the runtime's `PageFetcher`, which is made before this host.
    public var cookies = WebCookies()
    /// TLS towards the engine, and connections that are passed on.
    public var network = NetworkProxyNetwork()

    /// Settings as most apps want them.
    public init() {}
  }

  /// One app's engine: its data store with cookies, and the way by which its pages reach the device.
  @MainActor
  public final class WebHost {
    /// Answers what pages ask for; nil: pages come from the network, as without a runtime.
    public let runtime: Runtime?
    /// Cookies of pages and of the runtime's own requests.
    public let cookies: WebCookies
    let store: WKWebsiteDataStore
    let proxy: PageProxy?
    let scheme: PageScheme?
    private let hosts: [String]
    private let network: NetworkProxyNetwork
    private let listener: NetworkProxyListener?
    /// Where the engine believes the proxy to be; nil: it has none.
    private var port: UInt16?
    private var watch: Task<Void, Never>?
    /// The policy's, signed.
    private(set) var policyScripts: [PageScript] = []
    /// What pages say of themselves in every request; nil until the first one was asked.
    var userAgent: String?

    /// Starts the engine and its proxy, which is set before anything is loaded. Where the proxy can't listen, pages come from the
    /// network; each return to the foreground tries again.
    ///
    /// - Parameter hosts: as in `DeviceSettings.hosts`: only connections to these go to the proxy.
    public init(_ runtime: Runtime?, hosts: [String], _ settings: WebHostSettings = WebHostSettings()) async {
      self.runtime = runtime
      self.hosts = hosts
      (store, cookies, network) = (settings.store, settings.cookies, settings.network)
      cookies.attach(store.httpCookieStore)
      let isProxy = settings.way == .proxy && Self.hasProxies
      // Made in both ways: it knows which pages are open.
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

    /// Call it when the app comes back to the foreground, before pages load anything. While an app is suspended the system may take
    /// its sockets; then the proxy listens again, on its port where that is free, and else the engine is told of another one. Pages
    /// that are shown stay as they are.
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
      // Setting them may end loads that are under way, so that they are only set where they changed.
      if #available(iOS 17, macOS 14, *) {
        store.proxyConfigurations = port.flatMap { Self.configuration(proxy, $0, hosts) }.map { [$0] } ?? []
      }
    }

    /// Whether the system lets an app name a proxy for its pages.
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
      // A proxy that died may cost speed, never a page: the engine then connects by itself, to the server's own certificate.
      made.allowFailover = true
      // A bank's connection doesn't even pass by here. A domain stands for all below it; which of them are answered, the device knows.
      made.matchDomains = hosts.map { $0.hasPrefix("*.") ? String($0.dropFirst(2)) : $0 }
      return made
    }

    /// Has the proxy end TLS for each host that can be answered for, once there is a certificate to show. Until then its connections
    /// are passed on unread.
    func trustOwnCertificates() async {
      guard let proxy, listener != nil else { return }
      let network = network
      await Self.offMain {
        for host in proxy.hosts where network.certificate(for: host) != nil { proxy.trusts(host) }
      }
    }

    /// Calls that wait for the system, on a thread that may.
    private static func offMain<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: body()) }
      }
    }

    // MARK: - For pages

    /// Whether a page of this address would be answered from the device.
    func answers(_ url: String) -> Bool { proxy?.answers(url) ?? false }

    /// Looks which scripts the policy has now.
    func takeScripts() async { policyScripts = await runtime?.scripts() ?? [] }

    /// The address by which a page is loaded.
    func address(of url: String) -> String {
      scheme != nil && answers(url) ? CustomScheme.inPage(url) ?? url : url
    }

    /// The names of the app's hosts, for the scripts of the scheme.
    var hostNames: String { hosts.joined(separator: " ") }

    /// Whether a certificate that the engine asks about is this device's own for that host: the same bytes, alone, and of a host that
    /// is answered for. Every other one is the system's to judge, as without us.
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
