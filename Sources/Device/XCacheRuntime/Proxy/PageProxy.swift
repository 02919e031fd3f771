import HTTP
import System
import Values
import XCacheDevice

/// A proxy inside the app through which an engine loads its pages: the pages keep their real origins, and the proxy answers
/// from what the device holds.
///
/// It terminates TLS for the hosts that the app names and of which the device holds something; all other connections are
/// tunnelled unread. An adapter listens, sets the engine's proxy before the first load, and hands each connection to
/// `serve`:
///
///     let proxy = PageProxy(runtime, transport: CurlPageTransport(), network: network)
///     …
///     proxy.serve(stream)
///
/// `DeviceLinux` provides a listener.
public final class PageProxy: Sendable {
  let runtime: Runtime
  let transport: any PageTransport
  let network: any ProxyNetwork
  let pages = ProxyPages()
  /// The password that the engine sends with SOCKS, or in `Proxy-Authorization`; without it no connection is served.
  public let password: String
  private let expected: [UInt8]
  private let sites = Locked(Sites())
  /// Hosts for which TLS is terminated although nothing of them is held.
  private let moreHosts: [String]
  /// Called for each request, on the thread that serves it.
  let observer: (@Sendable (ProxyReport) -> Void)?
  private let reports = Locked<UInt64>(0)
  private let unauthenticated = UnauthenticatedStreams()
  /// The tunnels, and the sites that they lead to.
  private let tunnels = Locked<[(site: ResourceURL, tunnel: ProxyTunnel)]>([])

  private struct Sites {
    /// Hosts for which the engine accepts this device's certificate.
    var trusted: Set<String> = []
    /// Hosts of which something is held, with the version held and when that was determined, in continuous nanoseconds.
    var held: (hosts: [String], version: String, time: UInt64)?
  }

  /// The path of a blank page that the proxy serves on each site it answers for, for views that wait for their page.
  public static let blankPath = "/.well-known/xcache/blank"

  /// An empty page that sends no `Referer` to the next one.
  static let blankPage = Array("<!doctype html><meta name=referrer content=no-referrer><title></title>".utf8)

  /// The user name that goes with `password`.
  public static let user = "xcache"

  /// - Parameters:
  ///   - runtime: answers requests for what the device holds.
  ///   - transport: sends other requests to their servers.
  ///   - network: the system's TLS and connections.
  ///   - moreHosts: the app's hosts whose requests go through `transport` although the device holds nothing of them.
  ///   - observer: called for each request, on the thread that serves it.
  public init(
    _ runtime: Runtime, transport: any PageTransport, network: any ProxyNetwork, moreHosts: [String] = [],
    observer: (@Sendable (ProxyReport) -> Void)? = nil
  ) {
    self.moreHosts = moreHosts
    self.observer = observer
    self.runtime = runtime
    self.transport = transport
    self.network = network
    password = Hex.encode(Secrets.random(24).span.bytes)
    expected = Array("Basic \(Base64.encode(Array("\(Self.user):\(password)".utf8)))".utf8)
    runtime.proxies.withLock { proxies in
      proxies.removeAll { $0.proxy == nil }
      proxies.append(ProxyReference(proxy: self))
    }
  }

  /// Serves one connection of the engine until it ends; call it on a thread that may block.
  public func serve(_ stream: any ProxyStream) {
    let unauthenticatedID = unauthenticated.add(stream)
    defer {
      unauthenticated.remove(unauthenticatedID)
      stream.close()
    }
    let limit = Clock.monotonicNanoseconds() + UInt64(UnauthenticatedStreams.patience) * 1_000_000
    var first: UInt8 = 0
    let count = withUnsafeMutableBytes(of: &first) {
      stream.read(into: $0, within: UnauthenticatedStreams.patience)
    }
    guard count == 1 else { return }
    if first == SOCKSHandshake.version {
      guard let site = siteBySOCKS(stream, until: limit) else { return }
      unauthenticated.remove(unauthenticatedID)
      let replies = (SOCKSHandshake.Reply.succeeded.bytes, SOCKSHandshake.Reply.hostUnreachable.bytes)
      return open(site, stream, replies, rest: { [] })
    }
    let connection = ProxyConnection(stream, after: [first], until: limit)
    while let head = connection.next() {
      guard isAuthorized(head) else {
        guard askForPassword(head, connection) else { return }
        continue
      }
      connection.markAuthenticated()
      unauthenticated.remove(unauthenticatedID)
      if head.method == "CONNECT" { return connect(head, connection) }
      guard head.target.lowercased().hasPrefix("http://") else { return refuse(400, stream) }
      guard ProxyExchange(self, connection, head, url: head.target).run() else { return }
    }
  }

  /// Answers a request without the password; returns false if the connection is over.
  private func askForPassword(_ head: ProxyHead, _ connection: ProxyConnection) -> Bool {
    // libsoup, the HTTP library of WebKitGTK, sends the next CONNECT on the same connection with the proxy's own address in place
    // of the server's, and takes whatever it then reaches for the server.
    let isOpen = connection.beginAnswer() && head.method != "CONNECT"
    let headers: HTTPFields = [
      ("Proxy-Authenticate", "Basic realm=\"xcache\""), ("Content-Length", "0"),
      ("Connection", isOpen ? "keep-alive" : "close"),
    ]
    return connection.stream.write(ProxyHead.answer(407, headers)) && isOpen
  }

  private func isAuthorized(_ head: ProxyHead) -> Bool {
    Self.isSame(Array((head.headers["proxy-authorization"] ?? "").utf8), expected)
  }

  /// Compares in constant time, so that timing doesn't reveal where they differ.
  private static func isSame(_ given: [UInt8], _ expected: [UInt8]) -> Bool {
    guard given.count == expected.count else { return false }
    return zip(given, expected).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  private func siteBySOCKS(_ stream: any ProxyStream, until limit: UInt64) -> ResourceURL? {
    let (user, password) = (Array(Self.user.utf8), Array(password.utf8))
    return SOCKSHandshake(stream, until: limit).site { Self.isSame($0, user) && Self.isSame($1, password) }
  }

  private func refuse(_ status: Int, _ stream: any ProxyStream) {
    _ = stream.write(ProxyHead.answer(status, [("Content-Length", "0"), ("Connection", "close")]))
  }

  private func connect(_ head: ProxyHead, _ connection: ProxyConnection) {
    let stream = connection.stream
    guard connection.beginAnswer(), let url = ResourceURL(site: head.target) else {
      return refuse(400, stream)
    }
    // If there is no server, the connection ends as it would without a proxy: libsoup takes an answer for the page's own,
    // with the server's origin, and one without a type for a download.
    open(url, stream, (ProxyHead.answer(200, []), []), rest: connection.takeRest)
  }

  /// Terminates TLS for a site, or tunnels the connection. `replies` go to the engine, depending on whether there is a
  /// connection; `rest` returns the bytes that arrived after the engine's request.
  private func open(
    _ site: ResourceURL, _ stream: any ProxyStream, _ replies: (yes: [UInt8], no: [UInt8]),
    rest: () -> [UInt8]
  ) {
    guard endsTLS(for: site) else { return tunnel(site, stream, replies, rest: rest) }
    // An engine may start TLS before it has the answer.
    guard stream.write(replies.yes),
      let inner = network.secure(stream, after: rest(), as: String(site.host))
    else { return }
    defer { inner.close() }
    serve(inner, as: site)
  }

  private func serve(_ stream: any ProxyStream, as site: ResourceURL) {
    let connection = ProxyConnection(stream)
    while let head = connection.next() {
      // A request must be for the host whose certificate was shown.
      guard head.target.hasPrefix("/"), isHost(head.headers["host"], site) else { return refuse(421, stream) }
      let url = "https://\(site.authority)\(head.target)"
      if head.isWebSocket {
        _ = connection.beginAnswer()
        return webSocket(head, site, connection)
      }
      guard ProxyExchange(self, connection, head, url: url).run() else { return }
    }
  }

  private func isHost(_ host: String?, _ site: ResourceURL) -> Bool {
    host.flatMap { ResourceURL(site: $0) }?.authority == site.authority
  }

  /// Whether TLS is terminated here: for hosts of the app of which the device holds something, while interception is on.
  func endsTLS(for url: ResourceURL) -> Bool {
    let host = String(url.host)
    return sites.withLock { $0.trusted.contains(host) } && hosts.contains(host)
  }

  /// The hosts of the app of which the device holds something, or to which it sends calls ahead of pages; TLS is terminated
  /// for those that the adapter has passed to `addTrustedHost`. Empty while interception is off.
  public var hosts: [String] {
    guard runtime.mayAnswer, let device = runtime.device else { return [] }
    let now = Clock.continuousNanoseconds()
    let version = device.version
    let known = sites.withLock { sites in
      sites.held.flatMap { $0.version == version && now - $0.time < Self.freshness ? $0.hosts : nil }
    }
    if let known { return known }
    // This walks the whole manifest.
    let held = device.hosts
    let hosts = held + moreHosts.filter { !held.contains($0) && device.isAllowed("https://\($0)/") }
    sites.withLock { $0.held = (hosts, version, now) }
    return hosts
  }

  /// How long the hosts of a version stay valid, in nanoseconds: the hosts of calls sent ahead can change within a version.
  private static let freshness: UInt64 = 10_000_000_000

  func nextReport() -> UInt64 {
    reports.withLock { last in
      last += 1
      return last
    }
  }

  /// Tells the proxy that the engine accepts this device's certificate for `host`; until then connections to it are
  /// tunnelled unread.
  public func addTrustedHost(_ host: String) {
    if sites.withLock({ $0.trusted.insert(host).inserted }) { endTunnels() }
  }

  /// The former name of `addTrustedHost`.
  @available(*, deprecated, renamed: "addTrustedHost(_:)")
  public func trusts(_ host: String) { addTrustedHost(host) }

  private func tunnel(
    _ site: ResourceURL, _ stream: any ProxyStream, _ replies: (yes: [UInt8], no: [UInt8]),
    rest: () -> [UInt8]
  ) {
    do throws(TransportError) {
      let server = try network.connect(
        to: String(site.host), port: site.port, isSecure: false, isCancelled: { stream.isGone })
      defer { server.close() }
      let rest = rest()
      guard stream.write(replies.yes), rest.isEmpty || server.write(rest) else { return }
      let tunnel = ProxyTunnel(stream, server)
      tunnels.withLock { $0.append((site, tunnel)) }
      defer { tunnels.withLock { $0.removeAll { $0.tunnel === tunnel } } }
      // That may have changed while the tunnel was being set up.
      if endsTLS(for: site) { endTunnels() }
      tunnel.join()
    } catch {
      if !replies.no.isEmpty { _ = stream.write(replies.no) }
    }
  }

  /// Ends the tunnels to hosts for which TLS can now be terminated here; if the engine kept using them, requests would
  /// bypass the device.
  func endTunnels() {
    endIdleTunnels()
    guard tunnels.withLock({ !$0.isEmpty }) else { return }
    Task { [weak self] in
      // Tunnels that were busy the first time.
      for _ in 0..<Self.maxTunnelChecks {
        try? await Task.sleep(for: .seconds(1))
        self?.endIdleTunnels()
      }
    }
  }

  /// How many times busy tunnels are checked again, a second apart.
  private static let maxTunnelChecks = 60

  private func endIdleTunnels() {
    for (site, tunnel) in tunnels.withLock({ $0 }) where endsTLS(for: site) { tunnel.endIfIdle() }
  }

  /// Whether a connection to this site is being tunnelled at the moment. The engine may send its next request through it,
  /// and what the server has at `blankPath` isn't a blank page.
  public func isPassedOn(_ site: String) -> Bool {
    guard let url = try? ResourceURL(site) else { return false }
    return tunnels.withLock { $0.contains { $0.site.authority == url.authority } }
  }

  private func webSocket(_ head: ProxyHead, _ site: ResourceURL, _ connection: ProxyConnection) {
    var report = ProxyReport(
      id: nextReport(), url: "https://\(site.authority)\(head.target)", method: head.method,
      destination: .other)
    observer?(report)
    let server = try? network.connect(
      to: String(site.host), port: site.port, isSecure: true, isCancelled: { connection.stream.isGone })
    // What is sent on it stays between the two sides.
    if server != nil { (report.source, report.status) = (.network, 101) }
    report.end()
    observer?(report)
    // Without a server the connection ends without an answer, as it would without a proxy.
    guard let server else { return }
    defer { server.close() }
    guard server.write(head.forwarded + connection.takeRest()) else { return }
    ProxyTunnel.join(connection.stream, server)
  }
}

/// A weak reference from the runtime to one of its proxies.
struct ProxyReference: Sendable {
  weak var proxy: PageProxy?
}

extension ResourceURL {
  /// The site that an authority such as `m.example.com:443` names, normalised. Nil if the authority is invalid or its port
  /// is 0, on which no server listens.
  init?(site authority: String) {
    guard !authority.utf8.contains(where: { "/\\?#".utf8.contains($0) }),
      let url = try? ResourceURL("https://\(authority)/"), url.port != 0
    else { return nil }
    self = url
  }

  /// The port; the default of the scheme if it names none.
  var port: Int {
    let rest = authority.dropFirst(host.count + 1)
    return Int(rest) ?? (scheme == "https" ? 443 : 80)
  }
}

extension Runtime {
  /// Whether any page may be answered from here at the moment.
  var mayAnswer: Bool { device.map { isOpen && passReasonForAll($0) == nil } ?? false }

  /// Whether a URL is on a host that the app names.
  public func isOnAppHost(_ url: String) -> Bool { device?.isAllowed(url) ?? false }

  /// The former name of `isOnAppHost`.
  @available(*, deprecated, renamed: "isOnAppHost(_:)")
  public func names(_ url: String) -> Bool { isOnAppHost(url) }

  /// Returns which of `pages`, newest first, a request for `url` belongs to: the page of the newest version that lists it,
  /// so that its lazy parts load, otherwise the first one. One that was opened since the device went back comes before those of before.
  func owner(of url: String, among pages: [OpenPage]) -> OpenPage? {
    // What they hold now: a page's document may have come after a switch, and a page that was left stays for a while.
    let (held, since) = state.withLock { state in
      (pages.map { (page: $0, manifest: state.pages[$0.id]?.held) }, state.firstSinceReturn)
    }
    guard let newest = held.first, held.contains(where: { $0.manifest?.version != newest.manifest?.version }),
      let url = try? ResourceURL(url)
    else { return pages.first }
    let holders = held.filter { $0.manifest?.listed(url, isPage: false) != nil }
    let sinceReturn = holders.filter { $0.page.id >= since }
    let owner = (sinceReturn.isEmpty ? holders : sinceReturn).max { a, b in
      let (old, new) = (a.manifest?.version ?? "", b.manifest?.version ?? "")
      if old == new { return a.page.id < b.page.id }
      return old.utf8.count == new.utf8.count ? old < new : old.utf8.count < new.utf8.count
    }
    return (owner ?? newest).page
  }

  /// Whether a page is left to the network, its document apart.
  func leavesAlone(_ page: OpenPage) -> Bool {
    guard let device, let url = try? ResourceURL(page.url) else { return true }
    return passReason(of: page, url, isDocument: false, device) != nil
  }
}

extension PageProxy {
  /// Registers a page that the engine is about to load; `shown` or `left` has to follow.
  public func open(_ url: String) -> OpenPage { open(url, isAnnounced: true) }

  /// Registers a document that the engine requests without notice, because a link led there.
  func openUnannounced(_ url: String) -> OpenPage { open(url, isAnnounced: false) }

  private func open(_ url: String, isAnnounced: Bool) -> OpenPage {
    let page = runtime.open(url)
    for left in pages.add(page, isAnnounced: isAnnounced) { runtime.close(left) }
    return page
  }

  /// Records that the request for a page's document was answered.
  ///
  /// `isShown` says whether an engine shows that answer as a page.
  func recordAnswer(for page: OpenPage, isShown: Bool) {
    if pages.recordAnswer(for: page, isShown: isShown) { runtime.close(page) }
  }

  /// Returns the page for a `url` that the engine now shows in a view; registers a new one if nobody announced it.
  public func shown(_ url: String) -> OpenPage {
    if let page = pages.markShown(url) { return page }
    let page = open(url)
    return pages.markShown(url) ?? page
  }

  /// Whether the device would answer a page at this URL: it is on one of the app's hosts, and isn't left alone.
  public func answers(_ url: String) -> Bool {
    runtime.mayAnswer && !runtime.leavesAlone(OpenPage(id: 0, url: url, version: runtime.version))
  }

  /// Reports that a page was closed, or that its load failed.
  public func left(_ page: OpenPage) {
    pages.remove(page)
    runtime.close(page)
  }
}
