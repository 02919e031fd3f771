#if canImport(WebKit)
  import WebKit
  import XCacheRuntime

  /// Warm views: their content processes are running and a blank page of the app's own site is loaded in them, so that a
  /// page has to wait for neither.
  ///
  /// Each is used once, so nothing of a page carries over to the next. Pages that the device doesn't answer get a new view
  /// without any of this.
  @MainActor
  public final class PagePool {
    /// How many views wait, for how long, and what they are made with.
    public struct Settings: Sendable {
      /// The site of the app's pages: `https://m.example.com`.
      public var site: String
      /// The number of views that wait at a time.
      public var size = 1
      /// How long a view waits before another replaces it.
      public var age: Duration = .seconds(600)
      /// The settings that views are made with.
      public var page = WebPageSettings()

      /// Creates settings for pages of `site`.
      public init(site: String) { self.site = site }
    }

    /// The time between a load and making the next view: starting its process competes with the page's first paint for
    /// processors, which then came about 40 ms later on two of them (WebKitGTK).
    private static let afterLoad: Duration = .seconds(1)
    /// The time after a view was taken, in case its page's load doesn't end: the user may go on to another one.
    private static let atMost: Duration = .seconds(10)

    private let host: WebHost
    private let settings: Settings
    private var views: WarmViews<WebPage>
    private var filling: Task<Void, Never>?
    private var aging: Task<Void, any Error>?

    /// Creates an empty pool; `fill` makes the views.
    public init(_ host: WebHost, _ settings: Settings) {
      self.host = host
      self.settings = settings
      views = WarmViews(size: settings.size, age: settings.age)
    }

    deinit { aging?.cancel() }

    /// The number of views that wait.
    public var count: Int { views.count }

    /// Makes the missing views one after another, and returns when they are ready.
    public func fill() async {
      if filling == nil {
        filling = Task { @MainActor [weak self, round = views.round] in
          while let self, await self.add(since: round) {}
          if let self, self.views.round == round { self.filling = nil }
        }
      }
      await filling?.value
    }

    /// - Returns: whether another one may be missing.
    private func add(since round: WarmViews<WebPage>.Round) async -> Bool {
      // A view whose content process the system terminated isn't blank any more.
      views.drop { $0.isBlank }
      guard views.lacksOne(since: round), host.answers(settings.site + "/"),
        host.proxy?.isPassedOn(settings.site + "/") != true
      else { return false }
      let page = WebPage(host, settings.page)
      guard (try? await page.loadBlank(of: settings.site)) != nil, views.add(page, since: round) else {
        return false
      }
      age()
      return true
    }

    /// Drops the oldest view when its time is over, and replaces it.
    private func age() {
      aging?.cancel()
      guard let end = views.oldestEnd else { return }
      aging = Task { @MainActor [weak self] in
        try await Task.sleep(until: end, clock: .continuous)
        guard let self else { return }
        self.views.drop { $0.isBlank }
        await self.fill()
      }
    }

    /// Returns a view for `url`, to be loaded with its `load`: a waiting one if the device answers `url` and it is on the
    /// pool's site, otherwise a new one. The next view is made a second after the page is loaded, and at most 10 s after
    /// this call.
    public func page(for url: String) -> WebPage {
      let page: WebPage
      if host.answers(url), !isOfSite(url) {
        // If it replaced the blank page, it would come from another site, without its SameSite=Strict cookies.
        page = WebPage(host, settings.page)
      } else {
        page = chosen(for: url)
      }
      fill(in: Self.atMost)
      page.afterLoad = { [weak self] in self?.fill(in: Self.afterLoad) }
      return page
    }

    private func isOfSite(_ url: String) -> Bool {
      (url + "/").lowercased().hasPrefix(settings.site.lowercased() + "/")
    }

    private func chosen(for url: String) -> WebPage {
      switch views.choose(isAnswered: host.answers(url), keeping: { $0.isBlank }) {
      case .waiting(let waiting): return waiting
      case .new: return WebPage(host, settings.page)
      case .plain:
        var plain = settings.page
        plain.isPlain = true
        return WebPage(host, plain)
      }
    }

    private func fill(in time: Duration) {
      Task { @MainActor [weak self, round = views.round] in
        try await Task.sleep(for: time)
        guard let self, self.views.round == round else { return }
        await self.fill()
      }
    }

    /// Drops all views; call it when the system warns that memory is low. Opening the next page makes new ones.
    public func memoryIsShort() {
      views.removeAll()
      filling = nil
      aging?.cancel()
    }
  }
#endif
