import Manifests
import XCacheClient

extension Runtime {
  /// Sends the calls that the prefetch config names for a page that opens, beside the page.
  ///
  /// They carry the page's `Origin` and `Referer`, what `context` says, and the engine's cookies, whose store takes those of
  /// the answers, used or not. Nothing is sent where the app names no fetcher, for pages and calls of other hosts, or
  /// where the policy leaves the page alone.
  /// - Returns: how many calls are on their way.
  @discardableResult
  public func prefetch(for page: OpenPage, _ context: PageContext) async -> Int {
    guard let prefetches, let device, isOpen, !conditions.isOffline, let url = try? ResourceURL(page.url),
      device.isAllowed(url)
    else {
      return 0
    }
    var count = 0
    for request in device.prefetchRequests(for: page.url).prefix(Self.mostCalls) {
      guard let sent = NetworkRequest(ahead: request, of: url, context) else { continue }
      var body: [UInt8] = []
      if case .bytes(let bytes) = sent.body { body = bytes }
      await prefetches.send(
        sent, body: body, as: PrefetchTable.Key(page: page.id, method: sent.method, url: sent.url))
      count += 1
    }
    return count
  }

  /// Calls of one page that are sent.
  private static let mostCalls = 32

  /// The answer to a page's request, where that was sent ahead: once, and after a wait where it is under way. Nil: the page
  /// is to ask itself.
  ///
  /// A request gets one that was sent with the same method, address, body by value and cookies; with `Authorization`, a
  /// condition, a range or a header of the page's own it gets none.
  public func prefetched(_ request: PageRequest, body: [UInt8] = []) async -> PrefetchedAnswer? {
    guard let prefetches, let page = request.page, let url = try? ResourceURL(request.url),
      PageHeaders.isPlain(request.headers, hasBody: !body.isEmpty)
    else { return nil }
    var cookies = request.header("cookie")
    if cookies == nil, request.hasCredentials {
      cookies = await prefetches.fetcher.cookies.header(for: url.text)
    }
    return await prefetches.take(
      page.id, request.method.uppercased(), url.text, body: body, cookies: cookies)
  }

  /// The answer to a request of the app's own, such as one of its `URLSession`s, where a call that was sent ahead of a page is
  /// like it: by the same rules as for pages, once among all who ask.
  ///
  /// - Parameters:
  ///   - request: the app's own.
  ///   - body: of the request.
  ///   - cookies: what `Cookie` would say in the request, where it doesn't already; nil: nothing.
  public func prefetchedForApp(
    _ request: PageRequest, body: [UInt8] = [], cookies: String? = nil
  ) async -> PrefetchedAnswer? {
    guard let prefetches, isOfHosts(request), let url = try? ResourceURL(request.url),
      PageHeaders.isPlain(request.headers, hasBody: !body.isEmpty)
    else { return nil }
    return await prefetches.take(
      nil, request.method.uppercased(), url.text, body: body, cookies: request.header("cookie") ?? cookies)
  }

  /// Whether an answer that was sent ahead waits for a request like this one, or is under way: `prefetchedForApp` may have it.
  public func mayBePrefetched(_ request: PageRequest) -> Bool {
    guard let prefetches, isOfHosts(request), let url = try? ResourceURL(request.url) else { return false }
    return prefetches.hasAny(method: request.method.uppercased(), url: url.text)
  }

  /// How often what became of the calls that were sent ahead.
  public var prefetchCounts: PrefetchCounts { prefetches?.counts ?? PrefetchCounts() }
}
