import CWebKitGTK
import XCacheRuntime

/// One of the engine's cookies.
public struct WebCookie: Hashable, Sendable {
  /// The cookie's name.
  public var name: String
  /// The cookie's value.
  public var value: String
  /// The host it belongs to; a leading dot means that it also applies to subdomains.
  public var domain: String
  /// The path that it applies to, and everything below it.
  public var path: String
  /// Whether it is hidden from scripts.
  public var isHTTPOnly: Bool
  /// Whether it is only sent over https.
  public var isSecure: Bool
}

/// The engine's cookie store: WKHTTPCookieStore in the WKWebView adapter.
@WebActor
public final class WebCookies: CookieStore {
  private var store: UnsafeMutablePointer<WebKitWebsiteDataManager>?
  private var manager: UnsafeMutablePointer<WebKitCookieManager>?

  /// Creates a store that has no cookies until a host is created with it.
  public nonisolated init() {}

  /// Connects the object to its store.
  func attach(
    _ store: UnsafeMutablePointer<WebKitWebsiteDataManager>,
    _ manager: UnsafeMutablePointer<WebKitCookieManager>?
  ) {
    if let former = self.store { g_object_unref(former) }
    // The manager belongs to the store, which has to be retained.
    g_object_ref(store)
    (self.store, self.manager) = (store, manager)
  }

  isolated deinit { if let store { g_object_unref(store) } }

  /// Returns the cookies that a request to `url` would carry, including HttpOnly ones.
  public func all(for url: String) async throws -> [WebCookie] {
    guard let manager else { return [] }
    return try await awaiting {
      webkit_cookie_manager_get_cookies(manager, url, nil, $0, $1)
    } _: { result, error in
      let list = webkit_cookie_manager_get_cookies_finish(manager, result, error)
      var cookies: [WebCookie] = []
      var node = list
      while let item = node {
        node = item.pointee.next
        guard let data = item.pointee.data else { continue }
        let cookie = OpaquePointer(data)
        cookies.append(
          WebCookie(
            name: String(cString: soup_cookie_get_name(cookie)),
            value: String(cString: soup_cookie_get_value(cookie)),
            domain: String(cString: soup_cookie_get_domain(cookie)),
            path: String(cString: soup_cookie_get_path(cookie)),
            isHTTPOnly: soup_cookie_get_http_only(cookie) != 0, isSecure: soup_cookie_get_secure(cookie) != 0)
        )
        soup_cookie_free(cookie)
      }
      g_list_free(list)
      return cookies
    }
  }

  /// Stores the value of a `Set-Cookie` header as if it came from `url`; ignores a value that isn't a cookie.
  public func set(_ header: String, from url: String) async throws {
    guard let manager, let cookie = xcache_cookie(header, url) else { return }
    defer { soup_cookie_free(cookie) }
    _ = try await awaiting {
      webkit_cookie_manager_add_cookie(manager, cookie, nil, $0, $1)
    } _: { result, error in
      webkit_cookie_manager_add_cookie_finish(manager, result, error)
    }
  }

  /// Returns the value of `Cookie` for a request to `url`; nil if there are no cookies.
  public func header(for url: String) async -> String? {
    guard let found = try? await all(for: url), !found.isEmpty else { return nil }
    return found.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
  }

  /// Stores the `Set-Cookie` values of an answer from `url`.
  public func take(_ values: [String], from url: String) async {
    for value in values { try? await set(value, from: url) }
  }
}
