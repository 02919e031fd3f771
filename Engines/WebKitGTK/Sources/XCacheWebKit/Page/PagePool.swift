import CWebKitGTK
import XCacheRuntime

/// Views that wait for their page: their web processes run, and a blank page of the app's own site is loaded in them, so that
/// a page needs neither.
///
/// Each is used once: a page that was shown leaves nothing for the next. Pages that the device doesn't answer get a new view
/// without any of this.
@WebActor
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

  private struct Warm {
    let page: WebPage
    let made: ContinuousClock.Instant
  }

  private let host: WebHost
  private let settings: Settings
  /// Oldest first.
  private var waiting: [Warm] = []
  private var filling: Task<Void, Never>?
  /// Views that an earlier one is making aren't wanted any more.
  private var round = 0
  private var aging: Task<Void, any Error>?

  /// A pool without views; `fill` makes them.
  public init(_ host: WebHost, _ settings: Settings) {
    self.host = host
    self.settings = settings
  }

  isolated deinit { aging?.cancel() }

  /// How many views wait.
  public var count: Int { waiting.count }

  /// Makes the views that are missing, one after another, and comes back when they wait.
  public func fill() async {
    if filling == nil {
      filling = Task { @WebActor [weak self, round] in
        while let self, await self.add(round) {}
        if let self, self.round == round { self.filling = nil }
      }
    }
    await filling?.value
  }

  /// - Returns: whether another one may be missing.
  private func add(_ round: Int) async -> Bool {
    dropOld()
    guard waiting.count < settings.size, let proxy = host.proxy, host.answers(settings.site + "/"),
      let page = try? WebPage(host, settings.page)
    else { return false }
    do {
      try await page.loadBlank(settings.site + type(of: proxy).blankPath)
    } catch {
      return false
    }
    guard round == self.round else { return false }
    waiting.append(Warm(page: page, made: .now))
    age()
    return true
  }

  /// Lets the oldest view go when its time is over, and has another take its place.
  private func age() {
    aging?.cancel()
    guard let oldest = waiting.first else { return }
    aging = Task { @WebActor [weak self, settings] in
      try await Task.sleep(until: oldest.made + settings.age, clock: .continuous)
      guard let self else { return }
      self.dropOld()
      await self.fill()
      // Where none could be made, the next page has them made.
    }
  }

  private func dropOld() { waiting.removeAll { .now - $0.made >= settings.age || !$0.page.isBlank } }

  /// A view for `url`, which its `load` loads: one that waited, where the device answers for `url`, else a new one. The next one is
  /// made once the page is loaded.
  ///
  /// - Throws: as `WebPage.init`.
  public func page(for url: String) throws -> WebPage {
    dropOld()
    if !host.answers(url) {
      var plain = settings.page
      plain.isPlain = true
      return try fillingAfter(WebPage(host, plain))
    }
    return try fillingAfter(waiting.isEmpty ? WebPage(host, settings.page) : waiting.removeFirst().page)
  }

  private func fillingAfter(_ page: WebPage) -> WebPage {
    page.afterLoad = { [weak self] in if let self { Task { await self.fill() } } }
    return page
  }

  /// A view for `url` that has loaded it.
  ///
  /// - Throws: as `WebPage.load`.
  public func open(_ url: String) async throws -> WebPage {
    let page = try page(for: url)
    let hasWaited = page.isBlank
    do {
      try await page.load(url)
      return page
    } catch let error as WebKitError where hasWaited && error == .processEnded {
      // It ended while it waited, and nobody knew it yet. Others may have, with it.
      let page = try fillingAfter(WebPage(host, settings.page))
      try await page.load(url)
      return page
    }
  }

  /// Lets all views go: the system told the app that there is little memory. The next page that is opened has others made.
  public func memoryIsShort() {
    round += 1
    filling = nil
    aging?.cancel()
    waiting = []
  }

  /// Those that wait, for tests.
  package var pages: [WebPage] { waiting.map(\.page) }
}
