#if canImport(WebKit)
  import Foundation
  import System
  import WebKit
  import XCacheRuntime

  /// A view and what is shown in it.
  ///
  /// It is its view's navigation delegate: an app that wants to decide of navigations sets `decide`. Nothing that the engine keeps
  /// holds it, so that a page ends when the app lets go of it.
  @MainActor
  public final class WebPage: NSObject {
    /// What happens in the view.
    public enum Event: Sendable {
      case started, redirected, committed, finished
      case failed(url: String, reason: String)
      /// The content process ended.
      case terminated
    }

    let host: WebHost
    let settings: WebPageSettings
    /// The view, for the app's window.
    public let view: WKWebView
    /// Told of each event.
    public var onEvent: (Event) -> Void = { _ in }
    /// Asked about each navigation; nil: all are allowed.
    public var decide: ((WKNavigationAction) -> WKNavigationActionPolicy)?
    private var waiting: CheckedContinuation<Void, any Error>?
    /// Of the load that is waited for.
    private var navigation: WKNavigation?
    /// The last one that began to load.
    var started: WKNavigation?
    /// Whether the view shows what is waited for, where that may be in the document that is shown: then no load begins.
    private var isThere: (() -> Bool)?
    /// What couldn't be loaded last.
    private var failedURL: String?
    private var observations: [NSKeyValueObservation] = []
    /// What is on its way, and what is shown.
    var opening: OpenPage?
    var shown: OpenPage?
    /// Nil: the page that is shown was reached by a link, a reload or the history.
    var openedAt: ContinuousClock.Instant?
    private var reloads = ReloadLimit()
    private var loads = 0
    /// Called once, when the load that is waited for is over.
    var afterLoad: (() -> Void)?
    /// The blank page in a view whose page is still to come.
    enum Blank {
      /// There is none.
      case none
      /// It is shown.
      case waiting
      /// Its content process ended. It is still the first one in the view's history.
      case lost
    }

    var blank = Blank.none
    /// Whether a blank page waits here for its place to be taken.
    var isBlank: Bool { blank == .waiting }

    /// A view in `host`.
    public init(_ host: WebHost, _ settings: WebPageSettings = WebPageSettings()) {
      self.host = host
      self.settings = settings
      let configuration = WKWebViewConfiguration()
      configuration.websiteDataStore = host.store
      // Servers and pages can tell that a page is on the scheme.
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

    /// The address of what is shown, as its server knows it.
    public var url: String {
      let url = view.url?.absoluteString ?? ""
      return CustomScheme.real(url) ?? url
    }

    /// Loads a page and waits until it is loaded. An address that differs from the one that is shown in its `#fragment` alone is gone
    /// to within the document.
    ///
    /// - Throws: `WebPageError` where it can't be, or where the page that is shown went to a `#fragment` meanwhile: WebKit gives up what is on
    ///   its way then. `CancellationError` where another load took its place or the task was cancelled, which ends the load.
    public func load(_ url: String) async throws {
      defer { afterLoad.take()?() }
      guard let address = URL(string: host.address(of: url)) else { throw WebPageError("\(url): no address") }
      // WebKit would never say that it is loaded.
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
        // As WebKit writes it.
        let wanted = view.url
        isThere = url.contains("#") ? { [weak self] in self?.view.url == wanted } : nil
        return navigation
      }
    }

    /// Whether an address leads to a place in the document that another one names.
    private static func isWithin(_ document: URL, _ url: URL) -> Bool {
      let url = url.absoluteString
      return url.contains("#") && url.prefix { $0 != "#" } == document.absoluteString.prefix { $0 != "#" }
    }

    /// Loads the device's own blank page of a site, which is no page to the runtime.
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
          // It ended while it waited, and nobody knew it yet.
        }
      }
      // In a process of its own again, so that the page takes its place in the history, too.
      try await loading { view.reload() }
      blank = .waiting
      try await replaceBlank(by: url, at: address)
    }

    /// Loads a page in the place of the blank one, which isn't in the view's history any more then.
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

    /// Loads what is shown once more, and waits until it is loaded. Where nothing is shown, it loads what couldn't be loaded last; where
    /// nothing was loaded at all, it comes back at once.
    public func reload() async throws {
      guard view.backForwardList.currentItem != nil, blank == .none else {
        if let failedURL { try await load(failedURL) }
        return
      }
      try await loading { view.reload() }
    }

    /// Goes back in the view's history, and waits until that is loaded. Where there is nothing to go back to, it comes back at once.
    public func goBack() async throws {
      // WebKit passes over what a page's script added by itself.
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

    /// The view has another address, or has something to load or nothing more: that is all that WebKit says where a load ends within
    /// the document. The page's own steps there, and loads of frames, look the same, but don't lead to what is waited for.
    private func stateChanged() {
      guard isIdle(in: loads) else { return }
      if isThere?() == true {
        if let opening { host.proxy?.left(opening) }
        opening = nil
        return resume(nil)
      }
      // A step of the page's own may end what was on its way, and nobody says so.
      Task { @MainActor [weak self, loads] in
        try await Task.sleep(for: .seconds(5))
        if let self, self.isIdle(in: loads) { self.resume(WebPageError.givenUp) }
      }
    }

    /// Whether a load is waited for that hasn't begun, and none is on its way.
    private func isIdle(in number: Int) -> Bool {
      number == loads && waiting != nil && navigation != nil && navigation !== started && !view.isLoading
    }

    /// Runs the body of an async function in the page and gives its value as JSON; nil for `undefined`.
    ///
    /// - Throws: what the script threw.
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

    /// Ends a load that is waited for: without it, a page that was closed would live until its server answers.
    private func stop(_ number: Int) {
      guard number == loads, waiting != nil else { return }
      resume(CancellationError())
      view.stopLoading()
    }

    /// Tells the runtime of a page before it is loaded.
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

    /// Calls that are sent ahead of pages say of themselves what pages do. The first page of a process is asked, while its content
    /// process starts.
    private func learnUserAgent() async {
      guard host.runtime != nil, host.userAgent == nil else { return }
      host.userAgent =
        try? await view.callAsyncJavaScript("return navigator.userAgent", contentWorld: .defaultClient)
        as? String
    }

    /// Whether what happens to a navigation is what is waited for; a load that another one took the place of isn't.
    func isAwaited(_ navigation: WKNavigation?) -> Bool {
      self.navigation == nil || self.navigation === navigation
    }

    /// Whether a load that a decision ended came to nothing: one that hadn't begun has another one in its place, unless it is waited
    /// for.
    func isOver(refused navigation: WKNavigation?) -> Bool {
      navigation === started || self.navigation != nil && navigation === self.navigation
    }

    /// Ends a load that is waited for.
    func resume(_ error: (any Error)?) {
      navigation = nil
      guard let continuation = waiting.take() else { return }
      if let error { continuation.resume(throwing: error) } else { continuation.resume() }
    }

    /// The content process ended: what was shown is gone.
    func terminated() {
      let address = (shown ?? opening)?.url
      for page in [opening, shown] { if let page { host.proxy?.left(page) } }
      (opening, shown) = (nil, nil)
      let isOfBlank = blank != .none
      if isOfBlank { blank = .lost }
      onEvent(.terminated)
      resume(WebPageError.processEnded)
      // The next load has the blank page made again.
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

    /// Nil for a value that JSON hasn't got, such as a date; Foundation would end the app.
    static func json(_ value: Any) -> String? {
      guard JSONSerialization.isValidJSONObject([value]) else { return nil }
      return (try? JSONSerialization.data(withJSONObject: value, options: .fragmentsAllowed))
        .map { String(decoding: $0, as: UTF8.self) }
    }
  }

  /// Why a page couldn't be loaded.
  public struct WebPageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// In words.
    public let description: String

    init(_ text: String) { description = text }

    /// What loads end with that the page ended before they began, which WebKit doesn't say.
    static let givenUp = WebPageError("the page went to another place, and the load was given up")
    /// What loads end with whose content process ended.
    static let processEnded = WebPageError("the content process ended")
  }
#endif
