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

    private let host: WebHost
    private let settings: Settings
    private let views: ViewPool<WebPage>

    /// Creates an empty pool; `fill` makes the views.
    public init(_ host: WebHost, _ settings: Settings) {
      self.host = host
      self.settings = settings
      // A view whose content process the system terminated isn't blank any more.
      views = ViewPool(site: settings.site, size: settings.size, age: settings.age) {
        $0.isBlank
      } make: { @MainActor in
        guard host.answers(settings.site + "/"), host.proxy?.isPassedOn(settings.site + "/") != true
        else { return nil }
        let page = WebPage(host, settings.page)
        return (try? await page.loadBlank(of: settings.site)) == nil ? nil : page
      }
    }

    /// The number of views that wait.
    public var count: Int { views.count }

    /// Makes the missing views one after another, and returns when they are ready.
    public func fill() async { await views.fill() }

    /// Returns a view for `url`, to be loaded with its `load`: a waiting one if the device answers `url` and it is on the
    /// pool's site, otherwise a new one. The next view is made a second after the page is loaded, and at most 10 s after
    /// this call.
    public func page(for url: String) -> WebPage {
      let page = view(for: url)
      views.fill(after: .taken)
      page.afterLoad = { [weak pool = views] in pool?.fill(after: .loaded) }
      return page
    }

    private func view(for url: String) -> WebPage {
      switch views.choose(for: url, isAnswered: host.answers(url)) {
      case .waiting(let waiting): return waiting
      case .new: return WebPage(host, settings.page)
      case .plain:
        var plain = settings.page
        plain.isPlain = true
        return WebPage(host, plain)
      }
    }

    /// Drops all views; call it when the system warns that memory is low. Opening the next page makes new ones.
    public func memoryIsShort() { views.removeAll() }
  }
#endif
