import Values
import XCacheDevice

extension Runtime {
  /// Sends the calls that the prefetch config names for a page that is opening, in parallel with the page.
  ///
  /// They carry the page's `Origin` and `Referer`, what `context` says, and the engine's cookies; the cookies that the
  /// answers set go into the engine's store, used or not. Nothing is sent if the app names no fetcher, for pages and calls
  /// of other hosts, or if the policy leaves the page alone.
  /// - Returns: the number of calls sent.
  @discardableResult
  public func prefetch(for page: OpenPage, _ context: PageContext) async -> Int {
    guard let prefetches, let device, isOpen, !conditions.isOffline, let url = try? ResourceURL(page.url),
      device.isAllowed(url)
    else {
      return 0
    }
    var count = 0
    for request in device.prefetchRequests(for: page.url).prefix(Self.maxCalls) {
      guard let sent = NetworkRequest(ahead: request, of: url, context) else { continue }
      var body: [UInt8] = []
      if case .bytes(let bytes) = sent.body { body = bytes }
      await prefetches.send(
        sent, body: body, as: PrefetchTable.Key(page: page.id, method: sent.method, url: sent.url))
      count += 1
    }
    return count
  }

  /// The most calls sent for one page.
  private static let maxCalls = 32

  /// Returns the answer to a page's request if it was sent ahead, waiting for it if it is still on its way; each is
  /// returned once. Nil means that the page has to send the request itself.
  ///
  /// A request matches if it has the method, URL and body (by value) of the call, the cookies that the call was sent with, as
  /// its answer changed them, and equal values of the headers that the answer's `Vary` names. One with a condition, a range or
  /// a header of the page's own never matches. An answer that doesn't match for its cookies, its headers or an
  /// `Authorization` is dropped: it may be another user's.
  public func prefetched(_ request: PageRequest, body: [UInt8] = []) async -> PrefetchedAnswer? {
    guard let prefetches, let page = request.page, let url = try? ResourceURL(request.url) else { return nil }
    let method = request.method.uppercased()
    var asked = PrefetchTable.RequestContent(
      body: body, cookies: request.headers["cookie"], headers: request.headers)
    if asked.cookies == nil, request.hasCredentials {
      asked.cookies = await prefetches.fetcher.cookies.header(for: url.text)
    }
    guard PageHeaders.isPlain(request.headers, hasBody: !body.isEmpty) else {
      prefetches.drop(page.id, method, url.text, asked)
      return nil
    }
    return await prefetches.take(page.id, method, url.text, asked)
  }

  /// Returns the answer to a request of the app's own, such as one by its `URLSession`, if a matching call was sent ahead
  /// of a page. The same rules apply as for pages; each answer is returned once, to whoever asks first.
  ///
  /// - Parameters:
  ///   - request: the app's own request.
  ///   - body: the body of the request.
  ///   - cookies: the value that `Cookie` would have in the request, if the request doesn't have that header yet; nil for
  ///     none.
  public func prefetchedForApp(
    _ request: PageRequest, body: [UInt8] = [], cookies: String? = nil
  ) async -> PrefetchedAnswer? {
    guard let prefetches, isOfHosts(request), let url = try? ResourceURL(request.url),
      PageHeaders.isPlain(request.headers, hasBody: !body.isEmpty)
    else { return nil }
    let asked = PrefetchTable.RequestContent(
      body: body, cookies: request.headers["cookie"] ?? cookies, headers: request.headers)
    return await prefetches.take(nil, request.method.uppercased(), url.text, asked)
  }

  /// Whether the answer to a matching request was sent ahead and is waiting or on its way, so that `prefetchedForApp` may
  /// return it.
  public func mayBePrefetched(_ request: PageRequest) -> Bool {
    guard let prefetches, isOfHosts(request), let url = try? ResourceURL(request.url) else { return false }
    return prefetches.hasAny(method: request.method.uppercased(), url: url.text)
  }

  /// How the calls that were sent ahead turned out.
  public var prefetchCounts: PrefetchCounts { prefetches?.counts ?? PrefetchCounts() }
}
