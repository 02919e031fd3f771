#if canImport(WebKit)
  import WebKit
  import XCacheRuntime

  /// Views that wait for their page: their content processes run, and a blank page of the app's own site is loaded in them, so that
  /// a page needs neither.
  ///
  /// Each is used once: a page that was shown leaves nothing for the next. Pages that the device doesn't answer get a new view
  /// without any of this.
  @MainActor
  public final class PagePool {
    /// How many views wait, and how long.
    public struct Settings: Sendable {
      /// The site of the app's pages: `https://m.example.com`.
      public var site: String
      /// Views that wait at a time.
      public var size = 1
      /// How long one waits before another takes its place.
      public var age: Duration = .seconds(600)
      /// What views are made with.
      public var page = WebPageSettings()

      /// A pool for pages of `site`.
      public init(site: String) { self.site = site }
    }

    /// After a load, before the next view is made: its process starts on the processors that the page has its first paint to do
    /// with, which came about 40 ms later on two of them (WebKitGTK).
    private static let afterLoad: Duration = .seconds(1)
    /// After a view was taken, where its page's load doesn't end: the user may go on to another one.
    private static let atMost: Duration = .seconds(10)

    private let host: WebHost
    private let settings: Settings
    private var views: WarmViews<WebPage>
    private var filling: Task<Void, Never>?
    private var aging: Task<Void, any Error>?

    /// A pool without views; `fill` makes them.
    public init(_ host: WebHost, _ settings: Settings) {
      self.host = host
      self.settings = settings
      views = WarmViews(size: settings.size, age: settings.age)
    }

    deinit { aging?.cancel() }

    /// How many views wait.
    public var count: Int { views.count }

    /// Makes the views that are missing, one after another, and comes back when they wait.
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
      // Those whose content process the system ended aren't blank any more.
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

    /// Lets the oldest view go when its time is over, and has another take its place.
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

    /// A view for `url`, which its `load` loads: one that waited, where the device answers for `url` and it is of the
    /// pool's site, else a new one. The next one is made a second after the page is loaded, and 10 s after this at the
    /// latest.
    public func page(for url: String) -> WebPage {
      let page: WebPage
      if host.answers(url), !isOfSite(url) {
        // In the place of the blank page it would come from another site, without its cookies that are SameSite=Strict.
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

    /// Lets all views go, as the system asks for where there is little memory. The next page that is opened has others made.
    public func memoryIsShort() {
      views.removeAll()
      filling = nil
      aging?.cancel()
    }
  }
#endif
