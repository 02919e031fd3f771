import HTTP
import Values
import XCacheDevice

/// What an engine says about itself in every request.
public struct PageContext: Hashable, Sendable {
  /// `User-Agent`.
  public var userAgent: String
  /// `Accept-Language`; if nil, none is sent.
  public var acceptLanguage: String?

  /// Creates a context with the engine's values.
  public init(userAgent: String, acceptLanguage: String? = nil) {
    self.userAgent = userAgent
    self.acceptLanguage = acceptLanguage
  }
}

/// The headers of calls that are sent ahead, and which page requests match them.
enum PageHeaders {
  /// Returns the headers that the page's own `fetch` would send.
  static func ahead(
    of page: ResourceURL, to call: ResourceURL, contentType: String?, _ context: PageContext
  ) -> HTTPFields {
    let origin = "\(page.scheme)://\(page.authority)"
    var headers: HTTPFields = [("Accept", "*/*"), ("Origin", origin), ("User-Agent", context.userAgent)]
    if let language = context.acceptLanguage { headers.add("Accept-Language", language) }
    if let referrer = referrer(page, origin, call) { headers.add("Referer", referrer) }
    if let contentType { headers.add("Content-Type", contentType) }
    return headers
  }

  /// "strict-origin-when-cross-origin" (Referrer Policy §3.7), the default if a page sets none.
  private static func referrer(_ page: ResourceURL, _ origin: String, _ call: ResourceURL) -> String? {
    if page.scheme == call.scheme, page.authority == call.authority { return page.text }
    return page.scheme == "https" && call.scheme == "http" ? nil : origin + "/"
  }

  /// The headers that engines add themselves. Any other header is the page's own, and asks for something that no call was
  /// sent with.
  private static let ofEngines: Set<String> = [
    "accept", "accept-encoding", "accept-language", "cache-control", "connection", "content-length",
    "content-type", "cookie", "dnt", "host", "origin", "pragma", "priority", "referer", "user-agent",
  ]

  /// The names that an answer may vary by although a request differs in them: codings are undone, `CallCookies` compares the
  /// cookies, and `isOfOrigin` the origin.
  private static let comparedElsewhere: Set<String> = ["accept-encoding", "cookie", "origin"]

  /// Whether an answer to a call isn't one to a request, since it depends on a header that differs (RFC 9110 §12.5.5).
  ///
  /// - Parameters:
  ///   - names: the names in the answer's `Vary`, in small letters.
  ///   - sent: the headers of the call.
  ///   - asked: the headers of the request.
  static func differs(by names: Set<String>, _ sent: HTTPFields, _ asked: HTTPFields) -> Bool {
    names.contains { name in
      name == "*" || !comparedElsewhere.contains(name) && sent.combined(name) != asked.combined(name)
    }
  }

  /// Whether a request says by a header whose it is, which no call does.
  static func namesUser(_ asked: HTTPFields) -> Bool { asked.contains("authorization") }

  /// Whether a request is of the origin that the call was sent from, as far as it says.
  static func isOfOrigin(_ sent: HTTPFields, _ asked: HTTPFields) -> Bool {
    guard let origin = asked.combined("origin") else { return true }
    return origin == sent.combined("origin")
  }

  /// Whether a request could match a call that was sent ahead.
  ///
  /// - Parameters:
  ///   - headers: the headers of the request.
  ///   - hasBody: whether the request has a body, which then has to be JSON.
  static func isPlain(_ headers: HTTPFields, hasBody: Bool) -> Bool {
    headers.allSatisfy { header in
      let name = header.name.lowercased()
      if name == "content-type", hasBody {
        let type = header.value.prefix { $0 != ";" && $0 != " " }
        return type.lowercased() == "application/json"
      }
      return ofEngines.contains(name) || name.hasPrefix("sec-")
    }
  }
}

extension NetworkHead {
  /// The names of the request headers that the answer depends on, in small letters.
  var vary: Set<String> { Set(headers.members("vary")) }
}

extension NetworkRequest {
  /// Creates a call that is sent ahead of a page; nil if its URL is invalid.
  package init?(ahead request: PrefetchRequest, of page: ResourceURL, _ context: PageContext) {
    guard let call = try? ResourceURL(request.url) else { return nil }
    // A GET has no body, as in every browser's fetch.
    let body = request.method == "GET" ? [] : Array((request.body ?? "").utf8)
    let headers = PageHeaders.ahead(
      of: page, to: call, contentType: body.isEmpty ? nil : request.contentType, context)
    self.init(
      call.text, method: request.method, headers: headers, body: body.isEmpty ? .none : .bytes(body))
  }
}
