#if canImport(WebKit)
  import Foundation
  import WebKit
  import XCacheRuntime

  /// The engine's store of cookies, read and written for the runtime's own requests.
  ///
  /// Make it before the runtime, whose `PageFetcher` is to have the same one; there are no cookies in it until a `WebHost` is made
  /// with it.
  @MainActor
  public final class WebCookies: ScriptCookieStore {
    private var store: WKHTTPCookieStore?

    /// Cookies of the host that is made with these settings; none before that.
    public nonisolated init() {}

    func attach(_ store: WKHTTPCookieStore) { self.store = store }

    /// Those that a request to `url` carries, HttpOnly among them.
    public func cookies(for url: String) async -> [PageCookie] {
      guard let store else { return [] }
      return await store.allCookies().map { PageCookie($0) }.filter { $0.isSent(to: url) }
    }

    /// What `Cookie` says in a request to `url`; nil: there are none.
    public func header(for url: String) async -> String? {
      PageCookie.header(await cookies(for: url), for: url)
    }

    /// Takes the values of `Set-Cookie` of an answer from `url`; one that isn't a cookie is passed over.
    public func take(_ values: [String], from url: String) async {
      guard let store, let from = URL(string: url) else { return }
      for value in values {
        for cookie in HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": value], for: from) {
          // A date that has passed is how a server takes a cookie back.
          if let end = cookie.expiresDate, end < Date() {
            await store.deleteCookie(cookie)
          } else {
            await store.setCookie(cookie)
          }
        }
      }
    }
  }

  extension PageCookie {
    init(_ cookie: HTTPCookie) {
      self.init(
        name: cookie.name, value: cookie.value, domain: cookie.domain, path: cookie.path,
        isHTTPOnly: cookie.isHTTPOnly, isSecure: cookie.isSecure)
    }
  }
#endif
