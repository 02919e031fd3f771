#if canImport(WebKit)
  import Foundation
  import WebKit
  import XCacheRuntime

  /// The engine's cookie store, read and written for the runtime's own requests.
  ///
  /// Create it before the runtime, whose `PageFetcher` has to use the same one. It has no cookies until a `WebHost` is
  /// created with it.
  @MainActor
  public final class WebCookies: ScriptCookieStore {
    private var store: WKHTTPCookieStore?

    /// Creates a store that has no cookies until a host is created with it.
    public nonisolated init() {}

    func attach(_ store: WKHTTPCookieStore) { self.store = store }

    /// Returns the cookies that a request to `url` carries, including HttpOnly ones.
    public func cookies(for url: String) async -> [PageCookie] {
      guard let store else { return [] }
      return await store.allCookies().map { PageCookie($0) }.filter { $0.isSent(to: url) }
    }

    /// Returns the value of `Cookie` for a request to `url`; nil if there are no cookies.
    public func header(for url: String) async -> String? {
      PageCookie.header(await cookies(for: url), for: url)
    }

    /// Stores the `Set-Cookie` values of an answer from `url`; ignores values that aren't cookies.
    public func take(_ values: [String], from url: String) async {
      guard let store, let from = URL(string: url) else { return }
      for value in values {
        for cookie in HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": value], for: from) {
          // A server deletes a cookie by a date in the past.
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
