import Manifests
import System
import XCacheClient

/// One request of the engine's and its answer.
struct ProxyExchange {
  private let proxy: PageProxy
  private let connection: ProxyConnection
  private let head: ProxyHead
  private let url: String
  /// A document at the top of a view.
  private let isDocument: Bool

  /// Bytes of a body that are collected before it is sent, so that it can be sent again.
  private static let collected = 64 << 10
  /// Bytes of a body whose length isn't told.
  private static let mostUntold = 32 << 20

  init(_ proxy: PageProxy, _ connection: ProxyConnection, _ head: ProxyHead, url: String) {
    self.proxy = proxy
    self.connection = connection
    self.head = head
    self.url = url
    isDocument = head.header("sec-fetch-dest") == "document"
  }

  /// Answers; false where the connection is over.
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
    // An answer that never came, or that no engine shows as a page (RFC 9110 §15.3.5, §15.3.6).
    defer { tells(page, isShown: report.status.map { $0 != 204 && $0 != 205 } ?? false) }
    let request = PageRequest(
      // WebKit sends the proxy's password inside the tunnel, too: no header of the page's.
      url, method: head.method, headers: ProxyHead.endToEnd(head.headers), destination: destination,
      mode: mode,
      // Whether an answer without credentials would do isn't told; one with them always does.
      hasCredentials: true, page: page)
    if isForeign { return fromNetwork(request, &report) }
    let runtime = proxy.runtime
    switch Task.waiting(for: { await runtime.answer(request) }) {
    case .local(let answer):
      (report.source, report.status, report.bytes) = (.device, answer.status, answer.body.count)
      return send(answer)
    case .network: return fromNetwork(request, &report)
    }
  }

  // MARK: Whose it is

  /// The page that asks, as far as is known. Of several that may, one that is left alone has the request go to the network.
  private func page() -> OpenPage? {
    if isDocument { return proxy.pages.opening(url) ?? opensUntold() }
    let candidates = proxy.pages.candidates(
      referrer: head.header("referer"), origin: head.header("origin"), for: url,
      site: head.header("sec-fetch-site"))
    return candidates.first(where: proxy.runtime.leavesAlone)
      ?? proxy.runtime.owner(of: url, among: candidates)
  }

  /// The page of a document that nobody told of: links lead there, and going back. Its calls are sent ahead as those of a page that the
  /// app opens.
  private func opensUntold() -> OpenPage {
    let page = proxy.opensUntold(url)
    guard head.method == "GET" else { return page }
    let context = PageContext(
      userAgent: head.header("user-agent") ?? "", acceptLanguage: head.header("accept-language"))
    let runtime = proxy.runtime
    Task { await runtime.prefetch(for: page, context) }
    return page
  }

  /// Tells the pages what came of a document's request.
  private func tells(_ page: OpenPage?, isShown: Bool) {
    if isDocument, let page { proxy.answered(page, isShown: isShown) }
  }

  /// Whether a page of a host that isn't the app's asks.
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
    // The device has it on its disk; the engine needn't have it once more on its own.
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
      // Its cookies are those that it names: without credentials an engine names none.
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
      // One that never came shows by the end of the connection.
      relay.breakOff(isSent: ![.unreachable, .stopped].contains(error.kind))
      if error.kind != .stopped { proxy.runtime.passed(request, status: relay.status) }
      return false
    }
  }

  /// A body may take long, and a download is no page from its head on (RFC 6266 §4.2).
  private func begins(_ page: OpenPage?, _ head: NetworkHead) -> Bool {
    let disposition = head.values("content-disposition").first?.lowercased() ?? ""
    tells(page, isShown: ![204, 205].contains(head.status) && !disposition.hasPrefix("attachment"))
    return true
  }

  private func send(_ answer: PrefetchedAnswer) -> Bool {
    let relay = ProxyRelay(connection, isHEAD: false)
    return relay.begin(answer.head) && relay.receive(answer.body.span.bytes) && relay.finish()
  }

  /// What is sent on; nil where it broke off, or is too much.
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

  /// Reads the body as it arrives; once, and in its order.
  private func streamed() -> @Sendable (Int64, UnsafeMutableRawBufferPointer) throws -> Int {
    // The transport calls back on the thread that this connection is served on.
    nonisolated(unsafe) let connection = connection
    let state = Locked<(offset: Int64, rest: ArraySlice<UInt8>)>((0, []))
    return { offset, buffer in
      try state.withLock { state in
        guard offset == state.offset else {
          throw TransportError(.other, "a body that went by can't be sent again")
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

/// Writes an answer of the network's as it comes.
private final class ProxyRelay {
  private(set) var status = 0
  /// Bytes of the body that came.
  private(set) var sent: Int64 = 0
  private let connection: ProxyConnection
  private let isHEAD: Bool
  private var isOpen = false
  private var isChunked = false
  /// Bytes that the head has announced and that are still to come; nil where it doesn't say.
  private var remaining: Int64?
  /// Whether the engine took all that was written.
  private var isTaken = false

  init(_ connection: ProxyConnection, isHEAD: Bool) {
    self.connection = connection
    self.isHEAD = isHEAD
  }

  func begin(_ head: NetworkHead) -> Bool {
    status = head.status
    isOpen = connection.answers()
    let hasBody = !isHEAD && head.status != 204 && head.status != 304
    var headers = ProxyHead.endToEnd(head.headers)
    // A 407 without it is none (RFC 9110 §15.5.8).
    if head.status == 407 { headers += head.values("proxy-authenticate").map { ("Proxy-Authenticate", $0) } }
    remaining = hasBody ? head.values("content-length").first.flatMap { Int64($0) }.map { max(0, $0) } : 0
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
    // More than was announced would be taken for the next answer.
    guard let left = remaining, Int64(bytes.byteCount) <= left else { return false }
    remaining = left - Int64(bytes.byteCount)
    let stream = connection.stream
    return bytes.withUnsafeBytes { stream.write($0) }
  }

  /// The answer is whole; false where the connection is over.
  func finish() -> Bool {
    guard isChunked ? connection.stream.write(Array("0\r\n\r\n".utf8)) : remaining == 0 else { return false }
    connection.linger()
    return isOpen
  }

  /// The answer ends before its end, and so that the engine knows. A length that was announced says so; without one the connection
  /// has to end within a chunk: WebKit takes its end behind a whole one for the body's, runs what there is of a script, and keeps it.
  /// - Parameter isSent: whether the request may have reached its server. libsoup sends many a request again where a connection that it
  ///   kept ends without a byte; what was to be sent again the transport did.
  func breakOff(isSent: Bool) {
    if status == 0, isSent { _ = connection.stream.write(Array("HTTP/1.1 ".utf8)) }
    guard isChunked, isTaken else { return }
    _ = connection.stream.write(Array("1\r\n".utf8))
  }
}
