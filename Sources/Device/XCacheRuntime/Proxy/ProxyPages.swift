import System
import Values

/// The pages that an engine has open, and which of them a request comes from, as far as its headers show.
final class ProxyPages: Sendable {
  private struct Opening {
    let page: OpenPage
    /// Whether an adapter announced the page; it then reports its end, too.
    let isAnnounced: Bool
    /// When the page stops counting, in continuous nanoseconds.
    var limit: UInt64 = .max

    var isOver: Bool { limit != .max && Clock.continuousNanoseconds() >= limit }
  }

  private struct State {
    /// Pages whose document is on its way, oldest first.
    var opening: [Opening] = []
    /// Pages that are shown.
    var shown: [OpenPage] = []
  }

  /// The most pages that may be on their way; beyond that the oldest is taken to have been left.
  private static let maxOpening = 32

  /// Nanoseconds within which an engine shows a document that has started to arrive. After that it isn't a page, whether or
  /// not the adapter says so.
  private static let patience: UInt64 = 10_000_000_000

  private let state = Locked(State())

  /// Adds a page whose document is about to be requested.
  /// - Returns: the pages that were on their way for too long.
  func add(_ page: OpenPage, isAnnounced: Bool) -> [OpenPage] {
    state.withLock { state in
      var left = state.opening.filter(\.isOver)
      state.opening.removeAll(where: \.isOver)
      state.opening.append(Opening(page: page, isAnnounced: isAnnounced))
      left += state.opening.prefix(max(0, state.opening.count - Self.maxOpening))
      state.opening.removeFirst(max(0, state.opening.count - Self.maxOpening))
      return left.map(\.page)
    }
  }

  /// Records that the request for a page's document was answered. If an adapter announced the page, the adapter also
  /// reports its end.
  /// - Returns: whether the page is gone: nobody announced it, and nothing is shown.
  func recordAnswer(for page: OpenPage, isShown: Bool) -> Bool {
    state.withLock { state in
      guard let index = state.opening.firstIndex(where: { $0.page == page }),
        !state.opening[index].isAnnounced
      else { return false }
      if !isShown {
        state.opening.remove(at: index)
      } else if state.opening[index].limit == .max {
        state.opening[index].limit = Clock.continuousNanoseconds() + Self.patience
      }
      return !isShown
    }
  }

  /// Records that the engine doesn't show what it got from this URL. If an adapter announced the page, the adapter also
  /// reports its end.
  /// - Returns: the page that is gone.
  func removeUnannounced(_ url: String) -> OpenPage? {
    let url = Self.withoutFragment(url)
    return state.withLock { state in
      state.opening.lastIndex { !$0.isAnnounced && Self.withoutFragment($0.page.url) == url }
        .map { state.opening.remove(at: $0).page }
    }
  }

  /// Returns the announced page that a request for the document at this URL belongs to.
  func announced(_ url: String) -> OpenPage? {
    let url = Self.withoutFragment(url)
    return state.withLock {
      $0.opening.last { $0.isAnnounced && Self.withoutFragment($0.page.url) == url }?.page
    }
  }

  /// Marks the page with this URL as shown; nil if none was on its way.
  func markShown(_ url: String) -> OpenPage? {
    let url = Self.withoutFragment(url)
    return state.withLock { state in
      guard let index = state.opening.lastIndex(where: { Self.withoutFragment($0.page.url) == url }) else {
        return nil
      }
      let page = state.opening.remove(at: index).page
      state.shown.append(page)
      return page
    }
  }

  /// Removes a page.
  func remove(_ page: OpenPage) {
    state.withLock { state in
      state.opening.removeAll { $0.page == page }
      state.shown.removeAll { $0 == page }
    }
  }

  /// Returns the pages that a request for `url` may come from, newest first: those that `Referer` names, otherwise those of
  /// its origin. `site` is `Sec-Fetch-Site`, which only the engine can set: how the page's site and that of `url` are
  /// related.
  func candidates(referrer: String?, origin: String?, for url: String, site: String?) -> [OpenPage] {
    let all = state.withLock { state in
      Array((state.shown + state.opening.lazy.filter { !$0.isOver }.map(\.page)).reversed())
    }.filter { Self.canRequest(url, from: $0.url, site) }
    if let referrer {
      let url = Self.withoutFragment(referrer)
      let named = all.filter { Self.withoutFragment($0.url) == url }
      if !named.isEmpty { return named }
    }
    guard let source = (origin ?? referrer).flatMap(Self.origin) else { return all }
    return all.filter { Self.origin($0.url) == source }
  }

  /// Whether a request with this `Sec-Fetch-Site` can come from a page.
  private static func canRequest(_ url: String, from page: String, _ site: String?) -> Bool {
    switch site {
    case "same-origin": origin(page) == origin(url)
    case "same-site": relatedHost(page) == relatedHost(url)
    default: true
    }
  }

  /// Returns what hosts of one site have in common at least; the list of public suffixes isn't available here.
  private static func relatedHost(_ url: String) -> String? {
    (try? ResourceURL(url)).map { $0.host.split(separator: ".").suffix(2).joined(separator: ".") }
  }

  static func origin(_ url: String) -> String? {
    (try? ResourceURL(url)).map { "\($0.scheme)://\($0.authority)" }
  }

  private static func withoutFragment(_ url: String) -> String {
    (try? ResourceURL(url))?.text ?? String(url.prefix { $0 != "#" })
  }
}

extension PageProxy {
  /// Reports that the engine doesn't show the document it got from `url`, because it is a download or can't be displayed.
  /// Without this call the document counts as a page for 10 s.
  public func notShown(_ url: String) { if let page = pages.removeUnannounced(url) { runtime.close(page) } }
}
