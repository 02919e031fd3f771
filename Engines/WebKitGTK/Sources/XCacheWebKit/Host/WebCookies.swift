import CWebKitGTK
import XCacheRuntime

/// A cookie of the engine's.
public struct WebCookie: Hashable, Sendable {
  /// Its name.
  public var name: String
  /// Its value.
  public var value: String
  /// The host it belongs to, with a dot in front where it holds below it, too.
  public var domain: String
  /// The path it holds below.
  public var path: String
  /// Whether scripts don't see it.
  public var isHTTPOnly: Bool
  /// Whether it goes over https alone.
  public var isSecure: Bool
}

/// The engine's store of cookies: WKHTTPCookieStore in WKWebView's adapter.
@WebActor
public final class WebCookies: CookieStore {
  private var store: UnsafeMutablePointer<WebKitWebsiteDataManager>?
  private var manager: UnsafeMutablePointer<WebKitCookieManager>?

  /// Cookies of the host that is made with these settings; none before that.
  public nonisolated init() {}

  /// Finds its store.
  func attach(
    _ store: UnsafeMutablePointer<WebKitWebsiteDataManager>,
    _ manager: UnsafeMutablePointer<WebKitCookieManager>?
  ) {
    if let former = self.store { g_object_unref(former) }
    // The manager is the store's.
    g_object_ref(store)
    (self.store, self.manager) = (store, manager)
  }

  isolated deinit { if let store { g_object_unref(store) } }

  /// Those that a request to `url` would carry, HttpOnly among them.
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

  /// Takes the value of a `Set-Cookie` header as if it came from `url`; one that isn't a cookie is passed over.
  public func set(_ header: String, from url: String) async throws {
    guard let manager, let cookie = xcache_cookie(header, url) else { return }
    defer { soup_cookie_free(cookie) }
    _ = try await awaiting {
      webkit_cookie_manager_add_cookie(manager, cookie, nil, $0, $1)
    } _: { result, error in
      webkit_cookie_manager_add_cookie_finish(manager, result, error)
    }
  }

  /// What `Cookie` says in a request to `url`; nil: there are none.
  public func header(for url: String) async -> String? {
    guard let found = try? await all(for: url), !found.isEmpty else { return nil }
    return found.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
  }

  /// Takes the values of `Set-Cookie` of an answer from `url`.
  public func take(_ values: [String], from url: String) async {
    for value in values { try? await set(value, from: url) }
  }
}
