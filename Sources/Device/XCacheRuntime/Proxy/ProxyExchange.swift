import HTTP
import Manifests
import System
import XCacheDevice

/// One of the engine's requests, and its answer.
struct ProxyExchange {
  private let proxy: PageProxy
  private let connection: ProxyConnection
  private let head: ProxyHead
  private let url: String
  /// Whether it is for a document at the top of a view.
  private let isDocument: Bool

  /// The most bytes of a body to buffer before sending it, so that it can be sent again.
  private static let maxResentBody = 64 << 10
  /// The most bytes of a body of unknown length.
  private static let maxUnsizedBody = 32 << 20

  init(_ proxy: PageProxy, _ connection: ProxyConnection, _ head: ProxyHead, url: String) {
    self.proxy = proxy
    self.connection = connection
    self.head = head
    self.url = url
    isDocument = head.headers["sec-fetch-dest"] == "document"
  }

  /// Answers the request; returns false if the connection is over.
  func run() -> Bool {
    if head.target == PageProxy.blankPath, head.method == "GET" || head.method == "HEAD" {
      return sendBlank()
    }
    var report = ProxyReport(id: proxy.nextReport(), url: url, method: head.method, destination: destination)
    proxy.observer?(report)
    defer {
      report.end()
      proxy.observer?(report)
    }
    return answer(&report)
  }

  private func answer(_ report: inout ProxyReport) -> Bool {
    let page = page()
    // Not shown: no answer at all, or one that no engine shows as a page (RFC 9110 §15.3.5, §15.3.6).
    defer { recordDocument(page, isShown: report.status.map { $0 != 204 && $0 != 205 } ?? false) }
    let request = PageRequest(
      // WebKit sends the proxy's password inside the tunnel too; it is no header of the page's.
      url, method: head.method, headers: ProxyHead.endToEnd(head.headers), destination: destination,
      mode: mode,
      // The request doesn't say whether an answer without credentials would do; one with them always does.
      hasCredentials: true, page: page)
    if isForeign { return fromNetwork(request, &report) }
    let (runtime, stream) = (proxy.runtime, connection.stream)
    switch Task.waiting(cancelledWhen: { stream.isGone }, for: { await runtime.answer(request) }) {
    case .local(let answer):
      (report.source, report.status, report.bytes) = (.device, answer.status, answer.body.count)
      return send(answer)
    case .network(.cancelled): return false
    case .network: return fromNetwork(request, &report)
    }
  }

  // MARK: Whose it is

  /// The page that the request comes from, as far as is known. If it may come from several, one that is left alone sends
  /// the request to the network.
  private func page() -> OpenPage? {
    if isDocument { return proxy.pages.announced(url) ?? openUnannounced() }
    let candidates = proxy.pages.candidates(
      referrer: head.headers["referer"], origin: head.headers["origin"], for: url,
      site: head.headers["sec-fetch-site"])
    return candidates.first(where: proxy.runtime.leavesAlone)
      ?? proxy.runtime.owner(of: url, among: candidates)
  }

  /// Returns the page of a document that the app didn't announce: links lead there, and going back. Its calls are sent ahead like
  /// those of a page that the app opens.
  private func openUnannounced() -> OpenPage {
    let page = proxy.openUnannounced(url)
    guard head.method == "GET" else { return page }
    let context = PageContext(
      userAgent: head.headers["user-agent"] ?? "", acceptLanguage: head.headers["accept-language"])
    let runtime = proxy.runtime
    Task { await runtime.prefetch(for: page, context) }
    return page
  }

  /// Records what came of a document's request.
  private func recordDocument(_ page: OpenPage?, isShown: Bool) {
    if isDocument, let page { proxy.recordAnswer(for: page, isShown: isShown) }
  }

  /// Whether the request comes from a page on a host that isn't the app's.
  private var isForeign: Bool {
    if isDocument { return false }
    let source = [head.headers["origin"], head.headers["referer"]].compactMap { $0 }.first { $0 != "null" }
    guard let source else { return head.headers["sec-fetch-site"] == "cross-site" }
    return !(proxy.runtime.device?.isAllowed(source) ?? false)
  }

  private var destination: PageRequest.Destination {
    switch head.headers["sec-fetch-dest"] ?? "" {
    case "document": .document
    case "iframe", "frame": .frame
    case "script": .script
    case "style": .style
    case "image": .image
    case "font": .font
    case "audio": .audio
    case "video": .video
    case "manifest": .manifest
    case "worker", "sharedworker", "serviceworker": .worker
    case "empty": .fetch
    default: .other
    }
  }

  private var mode: PageRequest.Mode {
    switch head.headers["sec-fetch-mode"] ?? "" {
    case "navigate": .navigate
    case "same-origin": .sameOrigin
    case "cors": .cors
    case "no-cors": .noCORS
    default: head.headers["origin"] == nil ? .noCORS : .cors
    }
  }

  // MARK: Answers of the device

  private func sendBlank() -> Bool {
    let isOpen = connection.beginAnswer()
    let page = PageProxy.blankPage
    let headers: HTTPFields = [
      ("Content-Type", "text/html; charset=utf-8"), ("Content-Length", "\(page.count)"),
      ("Cache-Control", "no-store"), ("Connection", isOpen ? "keep-alive" : "close"),
    ]
    let body = head.method == "HEAD" ? [] : page
    return connection.stream.write(ProxyHead.answer(200, headers) + body) && isOpen
  }

  private func send(_ answer: LocalAnswer) -> Bool {
    let isOpen = connection.beginAnswer()
    // The device has the file on its disk, so the engine needn't store it again.
    var headers = answer.headers
    headers.set("Cache-Control", "no-store")
    if !isOpen { headers.add("Connection", "close") }
    if !headers.contains("content-length"), answer.status != 304 {
      headers.add("Content-Length", "\(answer.body.count)")
    }
    var bytes = ProxyHead.answer(answer.status, headers)
    switch answer.body {
    case .empty: return connection.stream.write(bytes) && isOpen
    case .bytes(let body):
      bytes += body
      return connection.stream.write(bytes) && isOpen
    case .file(let file, let start, let count):
      return connection.stream.write(bytes) && send(file, from: start, count) && isOpen
    }
  }

  private func send(_ file: LocalResource, from start: Int64, _ count: Int64) -> Bool {
    var sent: Int64 = 0
    while sent < count {
      let size = Int(min(count - sent, 256 << 10))
      guard let bytes = try? file.read(at: start + sent, count: size), !bytes.isEmpty,
        connection.stream.write(bytes)
      else { return false }
      sent += Int64(bytes.count)
    }
    return true
  }

  // MARK: Answers of the network

  private func fromNetwork(_ request: PageRequest, _ report: inout ProxyReport) -> Bool {
    guard let body = body() else { return false }
    var sent = NetworkRequest(url, method: head.method, headers: request.headers, body: body)
    if case .stream = body {
    } else {
      let bytes: [UInt8] = if case .bytes(let bytes) = body { bytes } else { [] }
      let runtime = proxy.runtime
      // The request names its cookies itself: without credentials an engine sends none.
      var asked = request
      asked.hasCredentials = false
      if let ahead = Task.waiting(for: { [asked] in await runtime.prefetched(asked, body: bytes) }) {
        (report.source, report.status) = (.network, ahead.head.status)
        report.bytes = Int64(ahead.body.count)
        return send(ahead)
      }
    }
    let stream = connection.stream
    sent.isCancelled = { stream.isGone }
    let relay = ProxyRelay(connection, isHEAD: head.method == "HEAD")
    defer {
      if relay.status != 0 {
        (report.source, report.status, report.bytes) = (.network, relay.status, relay.sent)
      }
    }
    do throws(TransportError) {
      try proxy.transport.send(
        sent,
        begin: { head in
          recordHead(head, of: request.page)
          return relay.begin(head)
        }, receive: relay.receive)
      proxy.runtime.passed(request, status: relay.status)
      if isDocument, (300..<400).contains(relay.status), let page = request.page { proxy.left(page) }
      return relay.finish()
    } catch {
      // If no answer came, the end of the connection shows that.
      relay.breakOff(isSent: ![.unreachable, .stopped].contains(error.kind))
      if error.kind != .stopped { proxy.runtime.passed(request, status: relay.status) }
      return false
    }
  }

  /// Called with the head, because a body may take long. A download isn't a page (RFC 6266 §4.2).
  private func recordHead(_ head: NetworkHead, of page: OpenPage?) {
    let disposition = head.headers["content-disposition"]?.lowercased() ?? ""
    recordDocument(page, isShown: ![204, 205].contains(head.status) && !disposition.hasPrefix("attachment"))
  }

  private func send(_ answer: PrefetchedAnswer) -> Bool {
    let relay = ProxyRelay(connection, isHEAD: false)
    return relay.begin(answer.head) && relay.receive(answer.body.span.bytes) && relay.finish()
  }

  /// The body to send on; nil if it broke off or is too long.
  private func body() -> NetworkRequest.Body? {
    guard let announced = head.bodyLength else { return NetworkRequest.Body.none }
    if let length = announced, length > Int64(Self.maxResentBody) {
      return .stream(length: length, read: streamed())
    }
    var bytes: [UInt8] = []
    while let piece = connection.nextBodyBytes() {
      if piece.isEmpty { return .bytes(bytes) }
      guard bytes.count + piece.count <= Self.maxUnsizedBody else { return nil }
      bytes += piece
    }
    return nil
  }

  /// Returns a closure that reads the body as it arrives, once and in order.
  private func streamed() -> @Sendable (Int64, UnsafeMutableRawBufferPointer) throws -> Int {
    // The transport calls back on the thread that serves this connection.
    nonisolated(unsafe) let connection = connection
    let state = Locked<(offset: Int64, rest: ArraySlice<UInt8>)>((0, []))
    return { offset, buffer in
      try state.withLock { state in
        guard offset == state.offset else {
          throw TransportError(.other, "a body that was passed on can't be sent again")
        }
        if state.rest.isEmpty {
          guard let piece = connection.nextBodyBytes() else {
            throw TransportError(.broken, "the body broke off")
          }
          state.rest = piece[...]
        }
        let count = min(buffer.count, state.rest.count)
        state.rest.prefix(count).withUnsafeBytes { buffer.copyMemory(from: $0) }
        state.rest = state.rest.dropFirst(count)
        state.offset += Int64(count)
        return count
      }
    }
  }
}
