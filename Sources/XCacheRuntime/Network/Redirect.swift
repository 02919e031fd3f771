import Manifests

/// What a browser makes of a redirect (Fetch §4.4, "HTTP-redirect fetch").
package struct Redirect {
  /// What is asked for next.
  package let request: NetworkRequest

  /// Redirects that are followed.
  package static let limit = 20

  /// Headers that belong to a body (Fetch §2.2.1, "request-body-header name").
  private static let ofBodies: Set<String> = [
    "content-encoding", "content-language", "content-location", "content-type", "content-length",
  ]

  /// The next request; nil where `head` is no redirect, or leads nowhere that may be gone to.
  package init?(after head: NetworkHead, to last: NetworkRequest) {
    guard [301, 302, 303, 307, 308].contains(head.status), let location = head.values("location").first,
      let from = try? ResourceURL(last.url), let target = Self.target(location, from: from),
      // What was secure stays so.
      from.scheme == target.scheme || target.scheme == "https"
    else { return nil }
    var next = last
    next.url = target.text
    let isPost = last.method == "POST" && (head.status == 301 || head.status == 302)
    let isOther = head.status == 303 && last.method != "GET" && last.method != "HEAD"
    if isPost || isOther {
      next.method = "GET"
      next.body = .none
      next.headers.removeAll { Self.ofBodies.contains($0.name.lowercased()) }
    }
    // "If … request's current URL's origin is not same origin with locationURL's origin, then … Authorization".
    if from.scheme != target.scheme || from.authority != target.authority {
      next.headers.removeAll { $0.name.lowercased() == "authorization" }
    }
    request = next
  }

  /// Where a `Location` leads (WHATWG URL standard §4.4, for http and https); nil where that is no such address.
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
