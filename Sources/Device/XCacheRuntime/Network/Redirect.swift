import Values

/// The request that a browser sends after a redirect (Fetch §4.4, "HTTP-redirect fetch").
package struct Redirect {
  /// The next request.
  package let request: NetworkRequest

  /// The most redirects that are followed.
  package static let limit = 20

  /// Headers that belong to a body (Fetch §2.2.1, "request-body-header name").
  private static let ofBodies: Set<String> = [
    "content-encoding", "content-language", "content-location", "content-type", "content-length",
  ]

  /// Nil if `head` isn't a redirect, or leads to a URL that must not be followed.
  package init?(after head: NetworkHead, to last: NetworkRequest) {
    guard [301, 302, 303, 307, 308].contains(head.status), let location = head.headers["location"],
      let from = try? ResourceURL(last.url), let target = Self.target(location, from: from),
      // A secure request never becomes insecure.
      from.scheme == target.scheme || target.scheme == "https"
    else { return nil }
    var next = last
    next.url = target.text
    let isPost = last.method == "POST" && (head.status == 301 || head.status == 302)
    let isOther = head.status == 303 && last.method != "GET" && last.method != "HEAD"
    if isPost || isOther {
      next.method = "GET"
      next.body = .none
      next.headers = next.headers.without(Self.ofBodies)
    }
    // "If … request's current URL's origin is not same origin with locationURL's origin, then … Authorization".
    if from.origin != target.origin {
      next.headers.remove("authorization")
    }
    next.headers.replaceValues { name, value in
      switch name {
      case "referer": Self.referrer(value, to: target)
      case "origin": Self.origin(value, from: from, to: target)
      default: value
      }
    }
    request = next
  }

  /// Returns the `Referer` by the policy "strict-origin-when-cross-origin" (Referrer Policy §8.3), which browsers use by
  /// default; nil for none. What the page itself withheld stays withheld.
  private static func referrer(_ text: String, to target: ResourceURL) -> String? {
    guard let page = try? ResourceURL(text), page.scheme == "http" || target.scheme == "https" else {
      return nil
    }
    return page.origin == target.origin ? text : "\(page.origin)/"
  }

  /// Returns the `Origin`, which is "null" once a server of another origin redirects to a third (Fetch §3.2, "serializing a
  /// request origin").
  private static func origin(_ text: String, from last: ResourceURL, to target: ResourceURL) -> String {
    last.origin == target.origin || (try? ResourceURL(text))?.origin == last.origin ? text : "null"
  }

  /// Returns the target of a `Location` (WHATWG URL standard §4.4, for http and https); nil if it isn't such a URL.
  private static func target(_ location: String, from base: ResourceURL) -> ResourceURL? {
    let start = location.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let text: String
    if start.contains(":") {
      text = location
    } else if location.hasPrefix("//") {
      text = "\(base.scheme):\(location)"
    } else if location.hasPrefix("/") {
      text = "\(base.scheme)://\(base.authority)\(location)"
    } else if location.hasPrefix("?") {
      text = base.withoutQuery + location
    } else if location.isEmpty || location.hasPrefix("#") {
      return base
    } else {
      let folder = base.withoutQuery.utf8.lastIndex(of: UInt8(ascii: "/")).map { base.text[...$0] } ?? ""
      text = folder + location
    }
    return try? ResourceURL(text)
  }
}

extension ResourceURL {
  /// The origin in the form of `Origin`: `https://m.example.com:8080`.
  fileprivate var origin: String { "\(scheme)://\(authority)" }
}
