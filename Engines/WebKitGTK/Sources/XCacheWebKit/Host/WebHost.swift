import CWebKitGTK
import DeviceLinux
import XCacheRuntime

/// What an app tells the engine at its start.
public struct WebHostSettings: Sendable {
  /// Where cookies and storage are kept; nil: in memory alone.
  public var folder: String?
  /// Whether the engine keeps HTTP answers of its own on the disk. What the device answers never is.
  public var keepsHTTPCache = true
  /// How requests go on to their servers.
  public var transport: any PageTransport = CurlPageTransport()
  /// The engine's cookies: give the same to the runtime's `PageFetcher`, which is made before this host.
  public var cookies = WebCookies()
  /// TLS towards the engine, and connections that are passed on.
  public var network: any WebProxyNetwork = LinuxProxyNetwork()
  /// Names of the app's hosts whose requests go through `transport` although the device holds nothing of them, for tools that
  /// answer for those.
  public var moreHosts: [String] = []
  /// A proxy for everything that isn't https, such as `http://127.0.0.1:3128`; nil: none. With one, nothing ever goes around
  /// the proxies: should the app's own die, https fails.
  public var otherProxy: String?
  /// Told of each request that reaches `transport` or the device, on the thread that serves it.
  public var onRequest: (@Sendable (ProxyReport) -> Void)?

  /// Settings as most apps want them.
  public init() {}
}

/// One app's engine: its web context, its data store with cookies and proxy. WKWebView's adapter has a
/// WKWebsiteDataStore in this place.
@WebActor
public final class WebHost {
  let context: UnsafeMutablePointer<WebKitWebContext>
  private let store: UnsafeMutablePointer<WebKitWebsiteDataManager>
  /// Answers what pages ask for; nil: pages come from the network, as without a runtime.
  public let runtime: Runtime?
  let proxy: PageProxy?
  private let listener: ProxyListener?
  private let network: any WebProxyNetwork
  private let otherProxy: String?
  private var watch: Task<Void, Never>?
  private var following: Task<Void, Never>?
  private var trusted: Set<String> = []
  /// What the engine was told to take, for a network process that takes the place of one that ended.
  private var certificates: [(host: String, certificate: UnsafeMutablePointer<GTlsCertificate>)] = []
  /// Cookies of pages and of the runtime's own requests.
  public let cookies: WebCookies
  private let downloads: WebDownloads
  private var pages: [Weak<WebPage>] = []
  /// Another process has the proxy's port.
  private var isProxyOff = false
  /// The policy's, signed.
  private(set) var policyScripts: [UserScript] = []

  /// Starts the engine and its proxy, which is set before anything is loaded.
  ///
  /// - Throws: where the proxy can't listen.
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

  /// https alone: what goes by http is answered by nobody here.
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

  /// Has the engine take this device's certificates, each for its host alone, as soon as a host can be answered for.
  private func trustOwnCertificates() {
    for host in proxy?.hosts ?? [] where !trusted.contains(host) {
      guard let pem = network.certificate(for: host), (try? trust(pem, for: host)) != nil else { continue }
      trusted.insert(host)
      proxy?.trusts(host)
    }
  }

  /// Looks which scripts the policy has now.
  func takeScripts() async {
    policyScripts = await runtime?.scripts().map { UserScript($0.source) } ?? []
  }

  /// The device begins to answer: what pages got from the network until then, the engine may keep for long, and it is of another
  /// version.
  private func forgetAnswers() {
    let caches = WEBKIT_WEBSITE_DATA_MEMORY_CACHE.rawValue | WEBKIT_WEBSITE_DATA_DISK_CACHE.rawValue
    webkit_website_data_manager_clear(store, WebKitWebsiteDataTypes(rawValue: caches), 0, nil, nil, nil)
  }

  /// Whether a page of this address would be answered from the device.
  func answers(_ url: String) -> Bool { proxy?.answers(url) ?? false }

  /// A proxy that is dead listens again on its port; where that can't be, the engine goes without, pages of the
  /// app are loaded once more, and each look tries the port again.
  ///
  /// WebKit doesn't say when its network process ended, and the next one knows the proxy, but not the certificates: they are
  /// told again each time, which costs it a look into a set.
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

  /// A view was made.
  func opened(_ page: WebPage) {
    pages.removeAll { $0.object == nil }
    pages.append(Weak(page))
  }
}

extension WebHost {
  /// Decides about what pages offer for download: `try await download.save(to: …)` takes it, and what isn't saved when this
  /// comes back is refused. Nil: every download is refused. WKDownloadDelegate.
  public var onDownload: (@WebActor (WebDownload) async -> Void)? {
    get { downloads.onDownload }
    set { downloads.onDownload = newValue }
  }
}

extension WebHost {
  /// Whether the engine was told to take this certificate, for whichever host.
  func trusts(_ certificate: UnsafeMutablePointer<GTlsCertificate>) -> Bool {
    certificates.contains { g_tls_certificate_is_same($0.certificate, certificate) != 0 }
  }

  /// Ends the proxy as if the system had, for tests of what follows.
  package func killProxy() { listener?.stop() }

  /// Where the proxy listens, without the password; for tests.
  package var proxyPort: UInt16? { listener?.port }
}

extension WebHost {
  /// Has the engine take a certificate, PEM, for one host, as a kiosk does whose servers are signed by nobody. What goes through
  /// the runtime's transport isn't concerned.
  ///
  /// - Throws: where that is no certificate.
  public func trust(_ pem: String, for host: String) throws {
    var error: UnsafeMutablePointer<GError>?
    guard let certificate = g_tls_certificate_new_from_pem(pem, -1, &error) else {
      throw error.map { WebKitError(taking: $0) } ?? WebKitError("no certificate")
    }
    certificates.append((host, certificate))
    webkit_web_context_allow_tls_certificate_for_host(context, certificate, host)
  }
}
