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
  private static let collected = 64 << 10
  /// The most bytes of a body of unknown length.
  private static let mostUntold = 32 << 20

  init(_ proxy: PageProxy, _ connection: ProxyConnection, _ head: ProxyHead, url: String) {
    self.proxy = proxy
    self.connection = connection
    self.head = head
    self.url = url
    isDocument = head.header("sec-fetch-dest") == "document"
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
    defer { tells(page, isShown: report.status.map { $0 != 204 && $0 != 205 } ?? false) }
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
    if isDocument { return proxy.pages.opening(url) ?? opensUntold() }
    let candidates = proxy.pages.candidates(
      referrer: head.header("referer"), origin: head.header("origin"), for: url,
      site: head.header("sec-fetch-site"))
    return candidates.first(where: proxy.runtime.leavesAlone)
      ?? proxy.runtime.owner(of: url, among: candidates)
  }

  /// Returns the page of a document that the app didn't announce: links lead there, and going back. Its calls are sent ahead like
  /// those of a page that the app opens.
  private func opensUntold() -> OpenPage {
    let page = proxy.opensUntold(url)
    guard head.method == "GET" else { return page }
    let context = PageContext(
      userAgent: head.header("user-agent") ?? "", acceptLanguage: head.header("accept-language"))
    let runtime = proxy.runtime
    Task { await runtime.prefetch(for: page, context) }
    return page
  }

  /// Records what came of a document's request.
  private func tells(_ page: OpenPage?, isShown: Bool) {
    if isDocument, let page { proxy.answered(page, isShown: isShown) }
  }

  /// Whether the request comes from a page on a host that isn't the app's.
  private var isForeign: Bool {
    if isDocument { return false }
    let source = [head.header("origin"), head.header("referer")].compactMap { $0 }.first { $0 != "null" }
    guard let source else { return head.header("sec-fetch-site") == "cross-site" }
    return !(proxy.runtime.device?.isAllowed(source) ?? false)
  }

  private var destination: PageRequest.Destination {
    switch head.header("sec-fetch-dest") ?? "" {
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
    switch head.header("sec-fetch-mode") ?? "" {
    case "navigate": .navigate
    case "same-origin": .sameOrigin
    case "cors": .cors
    case "no-cors": .noCORS
    default: head.header("origin") == nil ? .noCORS : .cors
    }
  }

  // MARK: Answers of the device

  private func sendBlank() -> Bool {
    let isOpen = connection.answers()
    let page = PageProxy.blankPage
    let headers = [
      ("Content-Type", "text/html; charset=utf-8"), ("Content-Length", "\(page.count)"),
      ("Cache-Control", "no-store"), ("Connection", isOpen ? "keep-alive" : "close"),
    ]
    let body = head.method == "HEAD" ? [] : page
    return connection.stream.write(ProxyHead.answer(200, headers) + body) && isOpen
  }

  private func send(_ answer: LocalAnswer) -> Bool {
    let isOpen = connection.answers()
    // The device has the file on its disk, so the engine needn't store it again.
    var headers =
      answer.headers.filter { $0.name.lowercased() != "cache-control" } + [("Cache-Control", "no-store")]
    if !isOpen { headers.append(("Connection", "close")) }
    if answer.header("content-length") == nil, answer.status != 304 {
      headers.append(("Content-Length", "\(answer.body.count)"))
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
        sent, begin: { begins(request.page, $0) && relay.begin($0) }, receive: relay.receive)
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
  private func begins(_ page: OpenPage?, _ head: NetworkHead) -> Bool {
    let disposition = head.values("content-disposition").first?.lowercased() ?? ""
    tells(page, isShown: ![204, 205].contains(head.status) && !disposition.hasPrefix("attachment"))
    return true
  }

  private func send(_ answer: PrefetchedAnswer) -> Bool {
    let relay = ProxyRelay(connection, isHEAD: false)
    return relay.begin(answer.head) && relay.receive(answer.body.span.bytes) && relay.finish()
  }

  /// The body to send on; nil if it broke off or is too long.
  private func body() -> NetworkRequest.Body? {
    guard let told = head.bodyLength else { return NetworkRequest.Body.none }
    if let length = told, length > Int64(Self.collected) { return .stream(length: length, read: streamed()) }
    var bytes: [UInt8] = []
    while let piece = connection.nextOfBody() {
      if piece.isEmpty { return .bytes(bytes) }
      guard bytes.count + piece.count <= Self.mostUntold else { return nil }
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
          guard let piece = connection.nextOfBody() else {
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

/// Writes an answer of the network as it arrives.
private final class ProxyRelay {
  private(set) var status = 0
  /// Bytes of the body received.
  private(set) var sent: Int64 = 0
  private let connection: ProxyConnection
  private let isHEAD: Bool
  private var isOpen = false
  private var isChunked = false
  /// Announced bytes that are still to come; nil if the head gives no length.
  private var remaining: Int64?
  /// Whether the engine accepted everything that was written.
  private var isTaken = false

  init(_ connection: ProxyConnection, isHEAD: Bool) {
    self.connection = connection
    self.isHEAD = isHEAD
  }

  func begin(_ head: NetworkHead) -> Bool {
    status = head.status
    isOpen = connection.answers()
    let hasBody = !isHEAD && head.status != 204 && head.status != 304
    // Two lengths, or one that is none, would be read differently by the engine.
    var headers = ProxyHead.endToEnd(NetworkHead.handedOn(head.headers))
    // A 407 isn't valid without this header (RFC 9110 §15.5.8).
    if head.status == 407 { headers += head.values("proxy-authenticate").map { ("Proxy-Authenticate", $0) } }
    let length = headers.first { $0.name.lowercased() == "content-length" }?.value
    remaining = hasBody ? length.flatMap { Int64($0) } : 0
    isChunked = hasBody && remaining == nil
    if isChunked { headers.append(("Transfer-Encoding", "chunked")) }
    if !isOpen { headers.append(("Connection", "close")) }
    isTaken = connection.stream.write(ProxyHead.answer(head.status, reason: head.reason, headers))
    return isTaken
  }

  func receive(_ bytes: RawSpan) -> Bool {
    if bytes.byteCount == 0 { return true }
    sent += Int64(bytes.byteCount)
    if isChunked {
      var chunk = Array("\(String(bytes.byteCount, radix: 16))\r\n".utf8)
      bytes.withUnsafeBytes { chunk.append(contentsOf: $0) }
      isTaken = connection.stream.write(chunk + [0x0D, 0x0A])
      return isTaken
    }
    // Bytes beyond the announced length would be taken for the next answer.
    guard let left = remaining, Int64(bytes.byteCount) <= left else { return false }
    remaining = left - Int64(bytes.byteCount)
    let stream = connection.stream
    return bytes.withUnsafeBytes { stream.write($0) }
  }

  /// Completes the answer; returns false if the connection is over.
  func finish() -> Bool {
    guard isChunked ? connection.stream.write(Array("0\r\n\r\n".utf8)) : remaining == 0 else { return false }
    connection.linger()
    return isOpen
  }

  /// Breaks off an answer in a way that the engine notices. An announced length shows it. Without one, the connection has
  /// to end within a chunk: if it ends after a complete chunk, WebKit takes that for the end of the body, runs the partial
  /// script, and caches it.
  /// - Parameter isSent: whether the request may have reached its server. libsoup resends many requests if a kept
  ///   connection ends without a byte, but the transport has already retried whatever could be retried.
  func breakOff(isSent: Bool) {
    if status == 0, isSent { _ = connection.stream.write(Array("HTTP/1.1 ".utf8)) }
    guard isChunked, isTaken else { return }
    _ = connection.stream.write(Array("1\r\n".utf8))
  }
}
