import Manifests

/// A request on the custom scheme, as its server is to get it, and what the page may see of the answer.
struct SchemeRequest: Sendable {
  /// With addresses as the server knows them, and without what is the scripts'.
  let request: PageRequest
  /// Under which the body was handed over; nil: the request has none, or one that is in it.
  let bodyID: String?
  /// Of the document that asks, where the request tells.
  let origin: String?
  /// What the script of `document.cookie` says.
  let cookie: String?
  private let isOwn: @Sendable (String) -> Bool

  /// Nil for an address that isn't on the scheme or not of the app's hosts, and for a request of a foreign page, which would
  /// carry the cookies of a host that isn't its own.
  init?(_ request: PageRequest, in mainDocument: String?, isOwn: @escaping @Sendable (String) -> Bool) {
    guard let whole = CustomScheme.real(request.url), isOwn(whole) else { return nil }
    // Images and scripts say nothing else of where they are for.
    if let main = mainDocument.map(CustomScheme.told), main.hasPrefix("http"), !isOwn(main) { return nil }
    var sent = request
    let (url, inAddress) = CustomScheme.split(String(request.url.dropFirst(CustomScheme.prefix.count)))
    sent.url = (try? ResourceURL(url))?.text ?? url
    bodyID = request.header(CustomScheme.header) ?? inAddress
    for name in ["origin", "referer"] {
      // Others, such as about:srcdoc, say nothing of where the request is from.
      guard let value = request.header(name).map(CustomScheme.told), value.hasPrefix("http") else { continue }
      guard isOwn(value) else { return nil }
    }
    // Of a page that hides its origin, as a foreign one may: it would carry cookies that `SameSite` holds back elsewhere.
    let isSafe = request.method == "GET" || request.method == "HEAD"
    guard isSafe || bodyID != nil || request.header("origin") != "null" else { return nil }
    sent.headers = request.headers.compactMap { name, value in
      switch name.lowercased() {
      case "origin": (name, CustomScheme.told(value))
      case "referer": CustomScheme.told(value).hasPrefix("http") ? (name, CustomScheme.told(value)) : nil
      case CustomScheme.header, "x-xcache-cookie", "cookie": nil
      default: (name, value)
      }
    }
    origin =
      [request.header("origin"), request.header("referer")]
      .compactMap { $0.map(CustomScheme.told).flatMap(ProxyPages.origin) }.first
    // A server wants to know where what changes something comes from; engines tell it none on a scheme of one's own.
    if sent.header("origin") == nil, !isSafe,
      let own = origin ?? ProxyPages.origin(sent.url)
    {
      sent.headers.append(("Origin", own))
    }
    cookie = request.header("x-xcache-cookie").flatMap(Self.decoded)
    self.request = sent
    self.isOwn = isOwn
  }

  /// Whether its redirects change an address that somebody sees.
  var isNavigation: Bool { request.destination == .document || request.destination == .frame }

  /// Whether it is the page with nothing in it.
  var isBlank: Bool { (try? ResourceURL(request.url)).map { $0.path == PageProxy.blankPath } ?? false }

  /// Whether it is the script's that stands in for `document.cookie`.
  var isOfCookies: Bool {
    (try? ResourceURL(request.url)).map { $0.path == CustomScheme.cookiePath } ?? false
  }

  /// The page whose cookies are meant: its path is told in the address, since cookies differ by it.
  var cookiePage: String? {
    guard let url = try? ResourceURL(request.url), let query = url.query, query.hasPrefix("path="),
      let path = Self.decoded(String(query.dropFirst(5))), path.hasPrefix("/"), !path.contains("?"),
      origin == nil || origin == ProxyPages.origin(request.url)
    else { return nil }
    return (try? ResourceURL("\(url.scheme)://\(url.authority)\(path)"))?.text
  }

  // MARK: The answer

  /// Whether the page may read an answer. The engine decides by the address that it asked, and doesn't know where redirects led:
  /// an answer of another origin needs that origin's word (Fetch §4.10, "CORS check").
  func mayRead(_ head: NetworkHead) -> Bool {
    guard !isNavigation, request.mode != .noCORS, let asked = ProxyPages.origin(request.url),
      let came = ProxyPages.origin(head.url), asked != came
    else { return true }
    let allowed = head.values("access-control-allow-origin").first
    return allowed == "*" || allowed == (origin ?? asked)
  }

  private static let notShown: Set<String> = [
    // The engine's store has them by now.
    "set-cookie", "connection", "keep-alive", "transfer-encoding", "alt-svc", "strict-transport-security",
  ]

  /// A head as the page on the scheme is to see it.
  func shown(_ head: NetworkHead) -> NetworkHead {
    // A page that hides its origin, as any page's sandboxed frame does, may have asked without credentials, which the engine doesn't
    // tell; they were sent. What a server lets such a page read without them isn't what it has answered (Fetch §4.10, "CORS check").
    let isHidden =
      request.header("origin") == "null" && head.values("access-control-allow-credentials").first != "true"
    let headers = head.headers.compactMap { name, value -> (name: String, value: String)? in
      let key = name.lowercased()
      if Self.notShown.contains(key) || isHidden && key == "access-control-allow-origin" { return nil }
      if key == "access-control-allow-origin" { return (name, CustomScheme.inPage(value) ?? value) }
      return (name, value)
    }
    return NetworkHead(status: head.status, headers: headers, url: CustomScheme.inPage(head.url) ?? head.url)
  }

  /// For a document that is led on: a page that goes there, since an engine takes no redirect from a scheme of the app's own. Nil for
  /// anything else.
  func pageLeadingOn(_ head: NetworkHead) -> [UInt8]? {
    guard isNavigation,
      let next = Redirect(after: head, to: NetworkRequest(request.url, method: request.method))
    else { return nil }
    let target = isOwn(next.request.url) ? CustomScheme.inPage(next.request.url) : next.request.url
    // A URL as it is serialised has no quote, less-than or line break that could end the string or the script.
    return Array("<!doctype html><script>location.replace(\"\(target ?? next.request.url)\")</script>".utf8)
  }

  /// Without percent encoding; nil where that isn't UTF-8.
  static func decoded(_ text: String) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2, let value = UInt8(String(rest.prefix(2)) ?? "", radix: 16) else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
