import CWebKitGTK
import DeviceLinux
import XCacheRuntime

/// The settings that an app starts the engine with.
public struct WebHostSettings: Sendable {
  /// The folder for cookies and storage; if nil, they are only kept in memory.
  public var folder: String?
  /// Whether the engine keeps its own HTTP cache on the disk. Answers from the device are never stored there.
  public var keepsHTTPCache = true
  /// Sends requests on to their servers.
  public var transport: any PageTransport = CurlPageTransport()
  /// The engine's cookies; pass the same object to the runtime's `PageFetcher`, which is created before this host.
  public var cookies = WebCookies()
  /// TLS towards the engine, and connections to tunnel.
  public var network: any WebProxyNetwork = LinuxProxyNetwork()
  /// The app's hosts whose requests go through `transport` although the device holds nothing of them, for tools that answer
  /// in place of those hosts.
  public var moreHosts: [String] = []
  /// A proxy for everything that isn't https, such as `http://127.0.0.1:3128`; nil for none. With one, nothing ever
  /// bypasses the proxies: if the app's own proxy dies, https requests fail.
  public var otherProxy: String?
  /// Called for each request that reaches `transport` or the device, on the thread that serves it.
  public var onRequest: (@Sendable (ProxyReport) -> Void)?

  /// Creates the settings that suit most apps.
  public init() {}
}

/// The engine of an app: its web context, and its data store with cookies and proxy; the WKWebView adapter uses a
/// WKWebsiteDataStore for that.
@WebActor
public final class WebHost {
  let context: UnsafeMutablePointer<WebKitWebContext>
  private let store: UnsafeMutablePointer<WebKitWebsiteDataManager>
  /// Answers page requests; if nil, pages come from the network.
  public let runtime: Runtime?
  let proxy: PageProxy?
  private let listener: ProxyListener?
  private let network: any WebProxyNetwork
  private let otherProxy: String?
  private var watch: Task<Void, Never>?
  private var following: Task<Void, Never>?
  private var trusted: Set<String> = []
  /// The certificates that the engine was told to accept, to be repeated to a network process that replaces one that ended.
  private var certificates: [(host: String, certificate: UnsafeMutablePointer<GTlsCertificate>)] = []
  /// The cookies of pages and of the runtime's own requests.
  public let cookies: WebCookies
  private let downloads: WebDownloads
  private var pages: [Weak<WebPage>] = []
  /// Whether another process has taken the proxy's port.
  private var isProxyOff = false
  /// The policy's scripts, whose signatures have been checked.
  private(set) var policyScripts: [UserScript] = []

  /// Starts the engine and its proxy, which is set before anything is loaded.
  ///
  /// - Throws: an error if the proxy can't listen.
  public init(_ runtime: Runtime?, _ settings: WebHostSettings = WebHostSettings()) throws {
    store =
      settings.folder.map { xcache_data_manager("\($0)/data", "\($0)/cache") }
      ?? webkit_website_data_manager_new_ephemeral()
    context = webkit_web_context_new_with_website_data_manager(store)
    if !settings.keepsHTTPCache {
      webkit_web_context_set_cache_model(context, WEBKIT_CACHE_MODEL_DOCUMENT_VIEWER)
    }
    let manager = webkit_website_data_manager_get_cookie_manager(store)
    if let folder = settings.folder {
      webkit_cookie_manager_set_persistent_storage(
        manager, "\(folder)/cookies.sqlite", WEBKIT_COOKIE_PERSISTENT_STORAGE_SQLITE)
    }
    downloads = WebDownloads(context)
    cookies = settings.cookies
    cookies.attach(store, manager)
    self.runtime = runtime
    network = settings.network
    otherProxy = settings.otherProxy
    proxy = runtime.map {
      PageProxy(
        $0, transport: settings.transport, network: settings.network, moreHosts: settings.moreHosts,
        observer: settings.onRequest)
    }
    listener = try proxy.map { try ProxyListener($0) }
    guard let listener else { return }
    useProxy(listener.socksAddress)
    trustOwnCertificates()
    watch = Task { @WebActor [weak self] in
      while !Task.isCancelled {
        try? await Task.sleep(for: .milliseconds(500))
        guard let self else { return }
        self.lookAfterProxy()
      }
    }
    guard let events = runtime?.events else { return }
    following = Task { @WebActor [weak self] in
      for await event in events {
        switch event {
        case .policyChanged: await self?.takeScripts()
        case .switched(from: "0", _): self?.forgetAnswers()
        default: break
        }
      }
    }
  }

  isolated deinit {
    watch?.cancel()
    following?.cancel()
    listener?.stop()
    for (_, certificate) in certificates { g_object_unref(certificate) }
    g_object_unref(context)
    g_object_unref(store)
  }

  /// Sets the proxy for https only: plain http isn't answered here.
  private func useProxy(_ address: String?) {
    guard address != nil || otherProxy != nil,
      let settings = webkit_network_proxy_settings_new(otherProxy, nil)
    else {
      webkit_website_data_manager_set_network_proxy_settings(store, WEBKIT_NETWORK_PROXY_MODE_NO_PROXY, nil)
      return
    }
    if let address { webkit_network_proxy_settings_add_proxy_for_scheme(settings, "https", address) }
    webkit_website_data_manager_set_network_proxy_settings(store, WEBKIT_NETWORK_PROXY_MODE_CUSTOM, settings)
    webkit_network_proxy_settings_free(settings)
  }

  /// Makes the engine accept this device's certificates, each for its own host only, as soon as the host can be answered
  /// for.
  private func trustOwnCertificates() {
    for host in proxy?.hosts ?? [] where !trusted.contains(host) {
      guard let pem = network.certificate(for: host), (try? trust(pem, for: host)) != nil else { continue }
      trusted.insert(host)
      proxy?.addTrustedHost(host)
    }
  }

  /// Fetches the current scripts of the policy.
  func takeScripts() async {
    policyScripts = await runtime?.scripts().map { UserScript($0.source) } ?? []
  }

  /// Clears the engine's caches when the device starts answering: what pages got from the network before may be cached for
  /// long, and belongs to another version.
  private func forgetAnswers() {
    let caches = WEBKIT_WEBSITE_DATA_MEMORY_CACHE.rawValue | WEBKIT_WEBSITE_DATA_DISK_CACHE.rawValue
    webkit_website_data_manager_clear(store, WebKitWebsiteDataTypes(rawValue: caches), 0, nil, nil, nil)
  }

  /// Whether the device would answer a page at this URL.
  func answers(_ url: String) -> Bool { proxy?.answers(url) ?? false }

  /// Restarts a dead proxy on its port. If that fails, the engine goes without a proxy, the app's pages are loaded again,
  /// and each later call retries the port.
  ///
  /// WebKit doesn't report that its network process ended, and the next one knows the proxy but not the certificates. So
  /// they are set again each time, which only costs the engine a set lookup.
  func lookAfterProxy() {
    trustOwnCertificates()
    for (host, certificate) in certificates {
      webkit_web_context_allow_tls_certificate_for_host(context, certificate, host)
    }
    guard let listener, !listener.isListening else { return }
    do {
      try listener.restart()
      useProxy(listener.socksAddress)
      isProxyOff = false
    } catch {
      guard !isProxyOff else { return }
      isProxyOff = true
      useProxy(nil)
      for page in pages.compactMap(\.object) { page.proxyIsGone() }
    }
  }

  /// Registers a new view.
  func opened(_ page: WebPage) {
    pages.removeAll { $0.object == nil }
    pages.append(Weak(page))
  }
}

extension WebHost {
  /// Decides about downloads that pages offer: `try await download.save(to: …)` accepts one, and one that isn't saved when
  /// this returns is refused. If nil, every download is refused. WKDownloadDelegate.
  public var onDownload: (@WebActor (WebDownload) async -> Void)? {
    get { downloads.onDownload }
    set { downloads.onDownload = newValue }
  }
}

extension WebHost {
  /// Whether the engine was told to accept this certificate, for any host.
  func trusts(_ certificate: UnsafeMutablePointer<GTlsCertificate>) -> Bool {
    certificates.contains { g_tls_certificate_is_same($0.certificate, certificate) != 0 }
  }

  /// Stops the proxy as if the system had, for tests of what follows.
  package func killProxy() { listener?.stop() }

  /// The proxy's port, for tests.
  package var proxyPort: UInt16? { listener?.port }
}

extension WebHost {
  /// Makes the engine accept a PEM certificate for one host, for example for a kiosk with self-signed servers. Has no
  /// effect on requests that go through the runtime's transport.
  ///
  /// - Throws: `WebKitError` if `pem` isn't a certificate.
  public func trust(_ pem: String, for host: String) throws {
    var error: UnsafeMutablePointer<GError>?
    guard let certificate = g_tls_certificate_new_from_pem(pem, -1, &error) else {
      throw error.map { WebKitError(taking: $0) } ?? WebKitError("no certificate")
    }
    certificates.append((host, certificate))
    webkit_web_context_allow_tls_certificate_for_host(context, certificate, host)
  }
}
