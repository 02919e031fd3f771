import HTTP
import Manifests
import System
import Values
import XCacheDevice
import XCacheRuntime

/// The local device's HTTP handler: pages below `/at/`, and the control page.
final class DeviceHandler: Handler {
  private let runtime: Runtime
  private let control: ControlPage
  private let pages: OpenPages

  init(_ runtime: Runtime, _ control: ControlPage) {
    self.runtime = runtime
    self.control = control
    pages = OpenPages(runtime)
  }

  func handle(_ request: borrowing Request) -> Answer {
    // Any site's page could direct a browser here under a host name of its own (DNS rebinding).
    guard let host = request.authority?.text.lowercased(), control.isOwn(host) else {
      return .now(
        Response(Status(421), contentType: "text/plain", "This is not the address of this process.\n"))
    }
    let path = request.path.text
    if path.hasPrefix("/at/https/") || path.hasPrefix("/at/http/") {
      // For another site's page, a browser may only follow a link, and gets nothing that a script could read.
      guard !(isForeign(request) && request.field(named: "sec-fetch-mode")?.text != "navigate") else {
        return .now(
          Response(
            .forbidden, contentType: "text/plain", "Pages of other sites may not send requests here.\n"))
      }
      return page(String(path.dropFirst("/at/".count)), request)
    }
    // A URL that begins with / refers to the page's own host.
    if !control.isAllowed(request), let page = pageThatAsks(request), let start = Self.start(of: page) {
      let query = request.query?.text
      let target = "/at/\(start)\(path)\(query.map { "?\($0)" } ?? "")"
      return .now(Response(Status(307), HeadFields([("Location", target)])))
    }
    return control.answer(path, request)
  }

  private func isForeign(_ request: borrowing Request) -> Bool {
    let site = request.field(named: "sec-fetch-site")?.text
    return site == "cross-site" || site == "same-site"
  }

  private func page(_ path: String, _ request: borrowing Request) -> Answer {
    let query = request.query?.text
    guard let url = Self.address(path + (query.map { "?\($0)" } ?? "")) else {
      return .now(Response(.notFound, contentType: "text/plain", "Pages are at /at/https/HOST/PATH.\n"))
    }
    let referer = pageThatAsks(request)
    let asked = pageRequest(url, request, from: referer)
    let isPage = asked.destination == .document
    let (runtime, pages, control) = (runtime, pages, control)
    return .abandonable { answer in
      let task = Task {
        var request = asked
        request.page = isPage ? pages.open(url) : referer.flatMap { pages.page($0) }
        let made = await runtime.answer(request)
        if isPage, let page = request.page {
          runtime.pageCameUp(page)
          control.tell(.pageOpened(page))
        }
        answer(Self.response(to: made, url))
      }
      return { task.cancel() }
    }
  }

  /// Returns the request as a web engine would pass it, with the browser's metadata (Fetch Metadata §2).
  private func pageRequest(_ url: String, _ request: borrowing Request, from page: String?) -> PageRequest {
    var asked = PageRequest(url, method: Self.name(of: request.method))
    for (name, value) in [
      ("accept", request.field(named: "accept")?.text), ("range", request.field(.range)?.text),
      ("if-range", request.field(.ifRange)?.text),
      ("if-none-match", request.field(.ifNoneMatch)?.text), ("if-match", request.field(.ifMatch)?.text),
      ("if-unmodified-since", request.field(.ifUnmodifiedSince)?.text),
    ] {
      if let value { asked.headers.add(name, value) }
    }
    let destination = request.field(named: "sec-fetch-dest")?.text ?? ""
    asked.destination = Self.destinations[destination] ?? .other
    asked.mode = Self.modes[request.field(named: "sec-fetch-mode")?.text ?? ""] ?? .noCORS
    // Here, every page has this process's origin; in an app, it has that of its own URL.
    if let page, let origin = Self.origin(of: page) {
      let isCrossOrigin = Self.origin(of: url) != origin
      if isCrossOrigin, asked.mode == .cors || asked.mode == .sameOrigin {
        asked.mode = .cors
        asked.headers.add("origin", origin)
      }
    } else if let origin = request.field(named: "origin")?.text {
      asked.headers.add("origin", origin)
    }
    return asked
  }

  private static let destinations: [String: PageRequest.Destination] = [
    "audio": .audio, "document": .document, "empty": .fetch, "font": .font, "frame": .frame, "iframe": .frame,
    "image": .image, "manifest": .manifest, "script": .script, "serviceworker": .worker,
    "sharedworker": .worker,
    "style": .style, "video": .video, "worker": .worker,
  ]

  private static let modes: [String: PageRequest.Mode] = [
    "cors": .cors, "navigate": .navigate, "no-cors": .noCORS, "same-origin": .sameOrigin,
  ]

  /// Returns the page in the Referer if it is one of this process.
  private func pageThatAsks(_ request: borrowing Request) -> String? {
    (request.field(.referer)?.text).flatMap { Self.page(of: $0, at: control.address) }
  }

  /// Returns `https/m.test:8443` for `https://m.test:8443/a`.
  private static func start(of url: String) -> String? {
    origin(of: url).map { $0.replacing("://", with: "/") }
  }

  /// Returns `https://m.test:8443` for `https://m.test:8443/a`.
  private static func origin(of url: String) -> String? {
    guard let scheme = url.firstRange(of: "://") else { return nil }
    return String(url[..<scheme.upperBound] + url[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" })
  }

  /// Returns `https://m.test/a` for `https/m.test/a`.
  private static func address(_ text: String) -> String? {
    for scheme in ["https", "http"] where text.hasPrefix("\(scheme)/") {
      let url = "\(scheme)://\(text.dropFirst(scheme.utf8.count + 1))"
      return (try? ResourceURL(url)) == nil ? nil : url
    }
    return nil
  }

  /// Returns the page in a Referer if it is one of this process.
  private static func page(of referer: String, at address: String) -> String? {
    for host in [address, "localhost:\(address.split(separator: ":").last ?? "")"] {
      let start = "http://\(host)/at/"
      if referer.hasPrefix(start) { return Self.address(String(referer.dropFirst(start.utf8.count))) }
    }
    return nil
  }

  private static func name(of method: Method) -> String {
    switch method {
    case .get: "GET"
    case .head: "HEAD"
    default: "OTHER"
    }
  }

  private static func response(to answer: PageAnswer, _ url: String) -> Response {
    switch answer {
    case .network(let reason):
      let fields = HeadFields([("Location", url), ("X-XCache", "network; \(reason.rawValue)")])
      return Response(Status(307), fields)
    case .local(let local):
      var fields = HeadFields([("X-XCache", local.isFromMemory ? "memory" : "disk")])
      for field in local.headers {
        if let known = Self.names.first(where: { "\($0)" == field.name }) { fields.add(known, field.value) }
      }
      let length = local.headers["content-length"].flatMap { UInt64($0) }
      let head = RenderedHead(Status(UInt16(local.status)), fields, contentLength: length)
      return Response(head, body(of: local))
    }
  }

  private static func body(of answer: LocalAnswer) -> Body {
    switch answer.body {
    case .empty: .none
    case .bytes(let bytes): bytes.isEmpty ? .none : .bytes(SharedBytes(bytes))
    case .file(let resource, let start, let count):
      .file(
        FileBody(
          owner: OpenResource(resource), descriptor: resource.descriptor,
          offset: UInt64(clamping: start), count: UInt64(clamping: count)))
    }
  }

  /// A file that is being sent. If bytes are missing, the next request finds it damaged.
  private final class OpenResource: FileOwner {
    private let resource: LocalResource

    init(_ resource: LocalResource) { self.resource = resource }

    func bytesAreMissing() {}
  }

  /// The headers that a local answer may have, except Content-Length. Service-Worker-Allowed isn't among them: with it, a page's
  /// service worker could intercept the control page.
  private static let names: [StaticString] = [
    "ETag", "X-Content-Type-Options", "Content-Type", "Accept-Ranges", "Content-Range",
    "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Vary", "Content-Security-Policy",
    "Content-Security-Policy-Report-Only", "Referrer-Policy", "Permissions-Policy",
    "Cross-Origin-Opener-Policy", "Cross-Origin-Embedder-Policy", "Cross-Origin-Resource-Policy",
    "X-Frame-Options",
  ]
}

/// The most recently opened pages: a browser tells when a page opens, but never when it closes.
final class OpenPages: Sendable {
  private static let maxOpen = 32
  private let runtime: Runtime
  private let pages = Locked<[OpenPage]>([])

  init(_ runtime: Runtime) { self.runtime = runtime }

  func open(_ url: String) -> OpenPage {
    let page = runtime.open(url)
    let closed = pages.withLock { pages -> OpenPage? in
      pages.append(page)
      return pages.count > Self.maxOpen ? pages.removeFirst() : nil
    }
    if let closed { runtime.close(closed) }
    return page
  }

  /// Returns the most recently opened page with this URL.
  func page(_ url: String) -> OpenPage? { pages.withLock { $0.last { $0.url == url } } }
}
