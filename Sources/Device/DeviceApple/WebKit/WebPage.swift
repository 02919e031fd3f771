#if canImport(WebKit)
  import Foundation
  import System
  import WebKit
  import XCacheRuntime

  /// A view and the page shown in it.
  ///
  /// It is the view's navigation delegate; set `decide` to decide about navigations. Nothing that the engine retains holds
  /// it, so a page ends when the app releases it.
  @MainActor
  public final class WebPage: NSObject {
    /// An event in the view.
    public enum Event: Sendable {
      case started, redirected, committed, finished
      case failed(url: String, reason: String)
      /// The content process ended.
      case terminated
    }

    let host: WebHost
    let settings: WebPageSettings
    /// The view, to be put into the app's window.
    public let view: WKWebView
    /// Called for each event.
    public var onEvent: (Event) -> Void = { _ in }
    /// Called for each navigation; if nil, all are allowed.
    public var decide: ((WKNavigationAction) -> WKNavigationActionPolicy)?
    private var waiting: CheckedContinuation<Void, any Error>?
    /// The navigation that is waited for.
    private var navigation: WKNavigation?
    /// The navigation that started last.
    var started: WKNavigation?
    /// Whether the view already shows what is waited for, if that may be in the current document: then no load starts.
    private var isThere: (() -> Bool)?
    /// The URL whose load failed last.
    private var failedURL: String?
    private var observations: [NSKeyValueObservation] = []
    /// The page that is on its way, and the page that is shown.
    var opening: OpenPage?
    var shown: OpenPage?
    /// When the page was opened; nil if it was reached by a link, a reload or the history.
    var openedAt: ContinuousClock.Instant?
    private var reloads = ReloadLimit()
    private var loads = 0
    /// Called once, when the load that is waited for is over.
    var afterLoad: (() -> Void)?
    /// The state of the blank page in a warm view.
    enum Blank {
      /// There is none.
      case none
      /// It is shown.
      case waiting
      /// Its content process ended. It is still the first entry in the view's history.
      case lost
    }

    var blank = Blank.none
    /// Whether a blank page is waiting here to be replaced.
    var isBlank: Bool { blank == .waiting }

    /// Creates a view in `host`.
    public init(_ host: WebHost, _ settings: WebPageSettings = WebPageSettings()) {
      self.host = host
      self.settings = settings
      let configuration = WKWebViewConfiguration()
      configuration.websiteDataStore = host.store
      // Lets servers and pages tell that a page is on the scheme.
      let names = [settings.applicationName, host.scheme.map { _ in "xcache-scheme/1" }].compactMap { $0 }
      if !names.isEmpty { configuration.applicationNameForUserAgent = names.joined(separator: " ") }
      let handler = host.scheme.map { SchemeHandler($0) }
      if let handler {
        configuration.setURLSchemeHandler(handler, forURLScheme: CustomScheme.https)
        configuration.setURLSchemeHandler(handler, forURLScheme: CustomScheme.http)
      }
      view = WKWebView(frame: .zero, configuration: configuration)
      super.init()
      view.navigationDelegate = self
      addHandlers()
      handler?.page = self
      setScripts([])
      observations = [
        view.observe(\.isLoading) { [weak self] _, _ in
          Task { @MainActor [weak self] in self?.stateChanged() }
        },
        view.observe(\.url) { [weak self] _, _ in Task { @MainActor [weak self] in self?.stateChanged() } },
      ]
    }

    deinit {
      let (proxy, pages, waiting) = (host.proxy, [opening, shown], waiting)
      waiting?.resume(throwing: CancellationError())
      for page in pages { if let page { proxy?.left(page) } }
    }

    /// The URL of what is shown, as its server knows it.
    public var url: String {
      let url = view.url?.absoluteString ?? ""
      return CustomScheme.real(url) ?? url
    }

    /// Loads a page and waits until it is loaded. If the URL differs from the current one only in its `#fragment`, it
    /// navigates within the document.
    ///
    /// - Throws: `WebPageError` if the page can't be loaded, or if the current page navigated to a `#fragment` meanwhile,
    ///   since WebKit then abandons the load. `CancellationError` if another load replaced it or the task was cancelled,
    ///   which stops the load.
    public func load(_ url: String) async throws {
      defer { afterLoad.take()?() }
      guard let address = URL(string: host.address(of: url)) else { throw WebPageError("\(url): no address") }
      // WebKit would never report this as loaded.
      if address.scheme?.lowercased() == "javascript" {
        throw WebPageError("\(url.prefix(100)): a script isn't a page; use `evaluate`")
      }
      do {
        try await load(url, at: address)
        failedURL = nil
      } catch let error as WebPageError {
        failedURL = url
        throw error
      }
    }

    private func load(_ url: String, at address: URL) async throws {
      if !settings.isPlain, host.answers(url) { await host.takeScripts() }
      chooseScripts(for: url)
      await host.trustOwnCertificates()
      await learnUserAgent()
      if blank != .none { return try await loadInPlaceOfBlank(url, at: address) }
      let isWithin = view.url.map { Self.isWithin($0, address) } ?? false
      try await loading {
        if !isWithin { opens(url) }
        let navigation = view.load(URLRequest(url: address))
        // In WebKit's own spelling.
        let wanted = view.url
        isThere = url.contains("#") ? { [weak self] in self?.view.url == wanted } : nil
        return navigation
      }
    }

    /// Whether a URL is a fragment of the given document.
    private static func isWithin(_ document: URL, _ url: URL) -> Bool {
      let url = url.absoluteString
      return url.contains("#") && url.prefix { $0 != "#" } == document.absoluteString.prefix { $0 != "#" }
    }

    /// Loads the device's own blank page on a site, which isn't a page to the runtime.
    func loadBlank(of site: String) async throws {
      guard let address = URL(string: host.address(of: site + PageProxy.blankPath)) else {
        throw WebPageError("\(site): no address")
      }
      await host.trustOwnCertificates()
      await learnUserAgent()
      try await loading { view.load(URLRequest(url: address)) }
      blank = .waiting
    }

    private func loadInPlaceOfBlank(_ url: String, at address: URL) async throws {
      if blank == .waiting {
        do {
          return try await replaceBlank(by: url, at: address)
        } catch let error as WebPageError where error == .processEnded && blank == .lost {
          // The process ended unnoticed while it waited.
        }
      }
      // Started again in a new process, so that the page can replace it in the history, too.
      try await loading { view.reload() }
      blank = .waiting
      try await replaceBlank(by: url, at: address)
    }

    /// Loads a page in place of the blank one, which then is no longer in the view's history.
    private func replaceBlank(by url: String, at address: URL) async throws {
      let view = view
      try await awaitLoad {
        opens(url)
        Task { @MainActor in
          _ = try? await view.callAsyncJavaScript(
            "location.replace(url)", arguments: ["url": address.absoluteString], contentWorld: .defaultClient)
        }
      }
    }

    /// Reloads what is shown, and waits until it is loaded. If nothing is shown, it retries the load that failed last; if
    /// nothing was ever loaded, it returns at once.
    public func reload() async throws {
      guard view.backForwardList.currentItem != nil, blank == .none else {
        if let failedURL { try await load(failedURL) }
        return
      }
      try await loading { view.reload() }
    }

    /// Goes back in the view's history, and waits until that page is loaded. Returns at once if there is nothing to go back
    /// to.
    public func goBack() async throws {
      // WebKit skips entries that a page's script added by itself.
      let targets = view.backForwardList.backList
      if targets.isEmpty { return }
      try await loading {
        isThere = { [weak self] in
          guard let self, let item = self.view.backForwardList.currentItem else { return false }
          return targets.contains { $0 === item } && item.url == self.view.url
        }
        return view.goBack()
      }
    }

    /// Handles a change of the view's URL or loading state, which is all that WebKit reports if a load ends within the
    /// document. The page's own navigations there, and loads of frames, look the same, but don't lead to what is waited
    /// for.
    private func stateChanged() {
      guard isIdle(in: loads) else { return }
      if isThere?() == true {
        if let opening { host.proxy?.left(opening) }
        opening = nil
        return resume(nil)
      }
      // A navigation by the page itself may end the load without any notice.
      Task { @MainActor [weak self, loads] in
        try await Task.sleep(for: .seconds(5))
        if let self, self.isIdle(in: loads) { self.resume(WebPageError.givenUp) }
      }
    }

    /// Whether a load is waited for that hasn't started, and none is running.
    private func isIdle(in number: Int) -> Bool {
      number == loads && waiting != nil && navigation != nil && navigation !== started && !view.isLoading
    }

    /// Runs the body of an async function in the page and returns its value as JSON; nil for `undefined`.
    ///
    /// - Throws: the error that the script threw.
    public func evaluate(_ body: String) async throws -> String? {
      try await view.callAsyncJavaScript(body, contentWorld: .page).flatMap(Self.json)
    }

    private func loading(_ start: () -> WKNavigation?) async throws {
      try await awaitLoad {
        navigation = start()
        if navigation == nil { resume(WebPageError("there is nothing to load")) }
      }
    }

    private func awaitLoad(_ start: () -> Void) async throws {
      loads += 1
      let number = loads
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          resume(CancellationError())
          (waiting, isThere) = (continuation, nil)
          start()
        }
      } onCancel: {
        Task { @MainActor [weak self] in self?.stop(number) }
      }
    }

    /// Stops a load that is waited for; otherwise a closed page would live until its server answers.
    private func stop(_ number: Int) {
      guard number == loads, waiting != nil else { return }
      resume(CancellationError())
      view.stopLoading()
    }

    /// Tells the runtime about a page before it is loaded.
    private func opens(_ url: String) {
      openedAt = .now
      if let former = opening { host.proxy?.left(former) }
      opening = host.proxy?.open(url)
      guard let opening, let runtime = host.runtime else { return }
      let context = PageContext(userAgent: host.userAgent ?? "")
      Task {
        await runtime.prefetch(for: opening, context)
        await runtime.handle(.pageOpened(opening))
      }
    }

    /// Gets the user agent, so that calls sent ahead of pages have the same one as pages. The first page of a process is
    /// asked while its content process starts.
    private func learnUserAgent() async {
      guard host.runtime != nil, host.userAgent == nil else { return }
      host.userAgent =
        try? await view.callAsyncJavaScript("return navigator.userAgent", contentWorld: .defaultClient)
        as? String
    }

    /// Whether events of a navigation concern the load that is waited for, rather than one that it replaced.
    func isAwaited(_ navigation: WKNavigation?) -> Bool {
      self.navigation == nil || self.navigation === navigation
    }

    /// Whether a load that a policy decision ended came to nothing: one that hadn't started was replaced by another, unless
    /// it is waited for.
    func isOver(refused navigation: WKNavigation?) -> Bool {
      navigation === started || self.navigation != nil && navigation === self.navigation
    }

    /// Ends the wait for a load.
    func resume(_ error: (any Error)?) {
      navigation = nil
      guard let continuation = waiting.take() else { return }
      if let error { continuation.resume(throwing: error) } else { continuation.resume() }
    }

    /// Handles the end of the content process: what was shown is gone.
    func terminated() {
      let address = (shown ?? opening)?.url
      for page in [opening, shown].compactMap({ $0 }) {
        host.runtime?.processEnded(page)
        host.proxy?.left(page)
      }
      (opening, shown) = (nil, nil)
      let isOfBlank = blank != .none
      if isOfBlank { blank = .lost }
      onEvent(.terminated)
      resume(WebPageError.processEnded)
      // The next load makes the blank page again.
      if isOfBlank { return }
      guard settings.reloadsAfterTermination, let address, reloads.allows(at: Clock.continuousNanoseconds())
      else { return }
      opens(address)
      // A view that showed nothing yet has nothing to reload.
      if view.url != nil {
        view.reload()
      } else if let url = URL(string: host.address(of: address)) {
        view.load(URLRequest(url: url))
      }
    }

    /// Nil for a value that JSON can't represent, such as a date; Foundation would terminate the app.
    static func json(_ value: Any) -> String? {
      guard JSONSerialization.isValidJSONObject([value]) else { return nil }
      return (try? JSONSerialization.data(withJSONObject: value, options: .fragmentsAllowed))
        .map { String(decoding: $0, as: UTF8.self) }
    }
  }

  /// The reason why a page couldn't be loaded.
  public struct WebPageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error message.
    public let description: String

    init(_ text: String) { description = text }

    /// The error of a load that ended because the page navigated elsewhere before it started, which WebKit doesn't report.
    static let givenUp = WebPageError("the page went to another place, and the load was given up")
    /// The error of a load whose content process ended.
    static let processEnded = WebPageError("the content process ended")
  }
#endif
