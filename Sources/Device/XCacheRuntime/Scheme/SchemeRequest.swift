import Values

/// A request on the custom scheme in the form that its server gets, and what the page may see of the answer.
struct SchemeRequest: Sendable {
  /// The request with the URLs that the server knows, and without the scripts' own headers.
  let request: PageRequest
  /// The id under which the body was handed over; nil if the request has no body or contains it.
  let bodyID: String?
  /// The origin of the document that asks, if the request says.
  let origin: String?
  /// What the script behind `document.cookie` sent.
  let cookie: String?
  private let isOwn: @Sendable (String) -> Bool

  /// Nil for a URL that isn't on the scheme or not on the app's hosts, and for a request of a foreign page, which would
  /// carry the cookies of a host that isn't its own.
  init?(_ request: PageRequest, in mainDocument: String?, isOwn: @escaping @Sendable (String) -> Bool) {
    guard let whole = CustomScheme.real(request.url), isOwn(whole) else { return nil }
    // For images and scripts this is the only sign of which page they are for.
    if let main = mainDocument.map(CustomScheme.serverValue), main.hasPrefix("http"), !isOwn(main) {
      return nil
    }
    var sent = request
    let (url, inAddress) = CustomScheme.split(String(request.url.dropFirst(CustomScheme.prefix.count)))
    sent.url = (try? ResourceURL(url))?.text ?? url
    bodyID = request.headers[CustomScheme.header] ?? inAddress
    for name in ["origin", "referer"] {
      // Other values, such as about:srcdoc, don't say where the request is from.
      guard let value = request.headers[name].map(CustomScheme.serverValue), value.hasPrefix("http") else {
        continue
      }
      guard isOwn(value) else { return nil }
    }
    // A page that hides its origin may be a foreign one, and its request would carry cookies that `SameSite` withholds
    // elsewhere.
    let isSafe = request.method == "GET" || request.method == "HEAD"
    guard isSafe || bodyID != nil || request.headers["origin"] != "null" else { return nil }
    sent.headers.replaceValues { name, value in
      switch name {
      case "origin": CustomScheme.serverValue(value)
      case "referer":
        CustomScheme.serverValue(value).hasPrefix("http") ? CustomScheme.serverValue(value) : nil
      case CustomScheme.header, "x-xcache-cookie", "cookie": nil
      default: value
      }
    }
    origin =
      [request.headers["origin"], request.headers["referer"]]
      .compactMap { $0.map(CustomScheme.serverValue).flatMap(ProxyPages.origin) }.first
    // Servers check where a request that changes something comes from, and engines send no usable `Origin` on a custom
    // scheme.
    if sent.headers["origin"] == nil, !isSafe,
      let own = origin ?? ProxyPages.origin(sent.url)
    {
      sent.headers.add("Origin", own)
    }
    cookie = request.headers["x-xcache-cookie"].flatMap(Self.decoded)
    self.request = sent
    self.isOwn = isOwn
  }

  /// Whether its redirects change a visible address.
  var isNavigation: Bool { request.destination == .document || request.destination == .frame }

  /// Whether it asks for the blank page.
  var isBlank: Bool { (try? ResourceURL(request.url)).map { $0.path == PageProxy.blankPath } ?? false }

  /// Whether it comes from the script that replaces `document.cookie`.
  var isOfCookies: Bool {
    (try? ResourceURL(request.url)).map { $0.path == CustomScheme.cookiePath } ?? false
  }

  /// The page whose cookies are meant. Its path is in the query, since cookies depend on it.
  var cookiePage: String? {
    guard let url = try? ResourceURL(request.url), let query = url.query, query.hasPrefix("path="),
      let path = Self.decoded(String(query.dropFirst(5))), path.hasPrefix("/"), !path.contains("?"),
      origin == nil || origin == ProxyPages.origin(request.url)
    else { return nil }
    return (try? ResourceURL("\(url.scheme)://\(url.authority)\(path)"))?.text
  }

  // MARK: The answer

  /// Whether the page may read an answer. The engine decides by the URL that it asked for, and doesn't know where redirects
  /// led: an answer of another origin needs that origin's permission (Fetch §4.10, "CORS check").
  func mayRead(_ head: NetworkHead) -> Bool {
    guard !isNavigation, request.mode != .noCORS, let asked = ProxyPages.origin(request.url),
      let came = ProxyPages.origin(head.url), asked != came
    else { return true }
    let allowed = head.headers["access-control-allow-origin"]
    return allowed == "*" || allowed == (origin ?? asked)
  }

  private static let notShown: Set<String> = [
    // Already in the engine's store.
    "set-cookie", "connection", "keep-alive", "transfer-encoding", "alt-svc", "strict-transport-security",
  ]

  /// Returns a head as the page on the scheme should see it.
  func shown(_ head: NetworkHead) -> NetworkHead {
    // A page that hides its origin, as any page's sandboxed frame does, may have asked without credentials. The engine
    // doesn't say so, and they were sent; a server that lets such a page read an answer without credentials hasn't allowed
    // this one (Fetch §4.10, "CORS check").
    let isHidden =
      request.headers["origin"] == "null" && head.headers["access-control-allow-credentials"] != "true"
    var headers = head.headers.without(Self.notShown)
    headers.replaceValues { name, value in
      guard name == "access-control-allow-origin" else { return value }
      return isHidden ? nil : CustomScheme.inPage(value) ?? value
    }
    return NetworkHead(status: head.status, headers: headers, url: CustomScheme.inPage(head.url) ?? head.url)
  }

  /// Returns a page that navigates to the target of a document's redirect, since engines accept no redirect from a custom
  /// scheme; nil for anything else.
  func redirectPage(_ head: NetworkHead) -> [UInt8]? {
    guard isNavigation,
      let next = Redirect(after: head, to: NetworkRequest(request.url, method: request.method))
    else { return nil }
    let target = isOwn(next.request.url) ? CustomScheme.inPage(next.request.url) : next.request.url
    // A serialised URL contains no quote, less-than sign or line break that could end the string or the script. A backslash
    // may be in its query; as it is, it would escape what follows.
    let text = (target ?? next.request.url).split(separator: "\\", omittingEmptySubsequences: false)
      .joined(separator: "\\\\")
    return Array("<!doctype html><script>location.replace(\"\(text)\")</script>".utf8)
  }

  /// Returns the text with percent encoding removed; nil if that isn't valid UTF-8.
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
