import HTTP
import Manifests
import System
import XCacheDevice

/// Answers requests of pages on the custom scheme, from the device or from the network with the engine's cookies.
///
/// For engines that can't be given a proxy. An adapter registers `CustomScheme.https`, hands over each request and each
/// message of the scripts, and passes the head and the pieces of the body on to the engine.
public final class PageScheme: Sendable {
  private let runtime: Runtime
  private let fetcher: PageFetcher
  private let cookies: any ScriptCookieStore
  private let bodies: BodyStore

  /// - Parameters:
  ///   - runtime: answers requests for what the device holds.
  ///   - fetcher: makes the requests that the device doesn't answer.
  ///   - cookies: the engine's cookies, the same ones as the fetcher's.
  ///   - bodies: the bodies of requests that are on their way.
  public init(
    _ runtime: Runtime, fetcher: PageFetcher, cookies: any ScriptCookieStore, bodies: BodyStore = BodyStore()
  ) {
    self.runtime = runtime
    self.fetcher = fetcher
    self.cookies = cookies
    self.bodies = bodies
  }

  /// Answers a request. Redirects are followed; for a document or a frame, a redirect becomes a page that navigates to the
  /// target, so that the address changes.
  ///
  /// - Parameters:
  ///   - request: the request as the engine gives it, its URL still on the app's scheme.
  ///   - body: the request's body, if the engine gives it; nil if the page has stored it, or there is none.
  ///   - mainDocument: the URL of the document at the top of the view, if the engine tells; a foreign document gets nothing.
  ///   - begin: receives the head as the page may see it; returns false if no body is wanted.
  ///   - receive: receives the body piece by piece, a long file's on a thread that may block; returns false to stop.
  public func answer(
    _ request: PageRequest, body: [UInt8]? = nil, mainDocument: String? = nil,
    begin: @escaping @Sendable (NetworkHead) -> Bool, receive: @escaping @Sendable (RawSpan) -> Bool
  ) async throws(TransportError) {
    guard let asked = SchemeRequest(request, in: mainDocument, isOwn: runtime.isOnAppHost) else {
      throw TransportError(
        .other, "\(request.url): not an address of the app's hosts, or not one that this page may request")
    }
    if asked.isBlank { return try sendBlank(request.url, begin, receive) }
    if asked.isOfCookies { return try await answerCookies(asked, begin, receive) }
    var sent = asked.request
    let bytes = try await self.body(&sent, asked, given: body)
    let head: @Sendable (NetworkHead) -> Bool = { begin(asked.shown($0)) }
    if bytes == nil, case .local(let answer) = await runtime.answer(sent) {
      return try await sendLocal(answer, of: sent.url, head, receive)
    }
    if let ahead = await runtime.prefetched(sent, body: bytes ?? []) {
      guard head(ahead.head), receive(ahead.body.span.bytes) else { throw Self.ended }
      return
    }
    try await fetch(sent, bytes, asked, head, receive)
  }

  private static let ended = TransportError(.stopped, "the caller ended it")

  /// Returns the body to send after the head of `sent`.
  private func body(
    _ sent: inout PageRequest, _ asked: SchemeRequest, given: [UInt8]?
  ) async throws(TransportError) -> [UInt8]? {
    if let id = asked.bodyID {
      if let body = await bodies.take(id, method: sent.method, url: sent.url, origin: asked.origin) {
        // The engine's type belongs to the form without fields that a script uses to send a body.
        sent.headers.remove("content-type")
        if !body.type.isEmpty { sent.headers.add("Content-Type", body.type) }
        return body.bytes
      }
    } else if given != nil || sent.headers["content-type"] == nil {
      return given
    }
    // A type without a body: the body was lost, as a worker's is. An error is better than an empty body that a server takes
    // at face value.
    runtime.lostBody(sent)
    throw TransportError(.other, "\(sent.url): the body of the request was lost on its way from the page")
  }

  /// The headers of the pages that are made here.
  private static let ofPages: HTTPFields = [
    ("Content-Type", "text/html;charset=UTF-8"), ("Cache-Control", "no-store"),
  ]

  /// Sends the blank page that warm views show while they wait.
  private func sendBlank(
    _ url: String, _ begin: (NetworkHead) -> Bool, _ receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    let page = PageProxy.blankPage
    guard begin(NetworkHead(status: 200, headers: Self.ofPages, url: url)), receive(page.span.bytes) else {
      throw Self.ended
    }
  }

  private func sendLocal(
    _ answer: LocalAnswer, of url: String, _ begin: (NetworkHead) -> Bool,
    _ receive: @escaping @Sendable (RawSpan) -> Bool
  ) async throws(TransportError) {
    guard begin(NetworkHead(status: answer.status, headers: answer.headers, url: url)) else {
      throw Self.ended
    }
    switch answer.body {
    case .empty: return
    case .bytes(let bytes): guard receive(bytes.span.bytes) else { throw Self.ended }
    case .file(let file, let start, let count):
      if let error = await Self.send(file, start, count, receive) { throw error }
    }
  }

  /// Reads a file on a thread of its own, on which `receive` may wait for the engine.
  private static func send(
    _ file: LocalResource, _ start: Int64, _ count: Int64, _ receive: @escaping @Sendable (RawSpan) -> Bool
  ) async -> TransportError? {
    await withCheckedContinuation { continuation in
      let run: @Sendable () -> Void = {
        var sent: Int64 = 0
        while sent < count {
          let size = Int(min(count - sent, 256 << 10))
          guard let bytes = try? file.read(at: start + sent, count: size), !bytes.isEmpty else {
            return continuation.resume(returning: TransportError(.broken, "the file couldn't be read"))
          }
          guard receive(bytes.span.bytes) else { return continuation.resume(returning: Self.ended) }
          sent += Int64(bytes.count)
        }
        continuation.resume(returning: nil)
      }
      if (try? OSThread(name: "page file", run)) == nil {
        continuation.resume(returning: TransportError(.other, "the system has no thread left"))
      }
    }
  }

  private func fetch(
    _ request: PageRequest, _ bytes: [UInt8]?, _ asked: SchemeRequest,
    _ begin: @escaping @Sendable (NetworkHead) -> Bool, _ receive: @escaping @Sendable (RawSpan) -> Bool
  ) async throws(TransportError) {
    let sent = NetworkRequest(
      request.url, method: request.method, headers: request.headers, body: bytes.map { .bytes($0) } ?? .none)
    let status = Locked(0)
    let (isHidden, isRedirectPage) = (Locked(false), Locked(false))
    do throws(TransportError) {
      try await fetcher.fetch(sent, redirects: asked.isNavigation ? .giveBack : .follow) { head in
        status.withLock { $0 = head.status }
        guard asked.mayRead(head) else {
          isHidden.withLock { $0 = true }
          return false
        }
        guard let page = asked.redirectPage(head) else { return begin(head) }
        isRedirectPage.withLock { $0 = true }
        return begin(NetworkHead(status: 200, headers: Self.ofPages, url: head.url))
          && receive(page.span.bytes)
      } receive: { bytes in
        isRedirectPage.withLock { $0 } || receive(bytes)
      }
      runtime.passed(request, status: status.withLock { $0 })
    } catch {
      if isHidden.withLock({ $0 }) {
        throw TransportError(
          .other, "\(request.url) leads to another origin, which doesn't let this page read")
      }
      if error.kind != .stopped { runtime.passed(request, status: status.withLock { $0 }) }
      throw error
    }
  }

  // MARK: - Scripts

  /// Handles a message of the page's scripts; messages may come in any order.
  ///
  /// - Parameters:
  ///   - message: the JSON that the scripts post.
  ///   - origin: the origin of the sending document, according to the engine, on the scheme: `xcache-https://m.example.com`.
  public func receive(_ message: String, from origin: String) async {
    guard let origin = CustomScheme.real(origin + "/").flatMap(ProxyPages.origin),
      let message = SchemeMessage(message)
    else { return }
    switch message {
    case .body(let part): _ = bodies.add(part, from: origin)
    case .beacon(let id, let url): await sendBeacon(id, to: CustomScheme.split(url).url, origin)
    }
  }

  private func sendBeacon(_ id: String, to url: String, _ origin: String) async {
    guard runtime.isOnAppHost(url),
      // A beacon may overtake its body.
      let body = await bodies.take(id, method: "POST", url: url, origin: origin)
    else { return }
    var headers: HTTPFields = [("Origin", origin), ("Referer", origin + "/")]
    if !body.type.isEmpty { headers.add("Content-Type", body.type) }
    let request = NetworkRequest(url, method: "POST", headers: headers, body: .bytes(body.bytes))
    try? await fetcher.fetch(request) { _ in
      true
    } receive: { _ in
      true
    }
  }

  /// Reads or writes `document.cookie` for a page.
  private func answerCookies(
    _ asked: SchemeRequest, _ begin: (NetworkHead) -> Bool, _ receive: (RawSpan) -> Bool
  ) async throws(TransportError) {
    var (status, text) = (403, "")
    // A page of another origin can't send this header: no answer here allows it to.
    if let line = asked.cookie, let page = asked.cookiePage {
      status = 200
      switch asked.request.method {
      case "GET": text = await cookies.visible(at: page)
      case "POST": await cookies.write(line, at: page)
      default: status = 405
      }
    }
    let headers: HTTPFields = [
      ("Content-Type", "text/plain;charset=UTF-8"), ("Cache-Control", "no-store"),
      ("Content-Length", "\(text.utf8.count)"),
    ]
    let head = NetworkHead(status: status, headers: headers, url: asked.request.url)
    guard begin(head), receive(Array(text.utf8).span.bytes) else { throw Self.ended }
  }
}
