import CCurl
import HTTP
import System

/// A request in progress: what libcurl's callbacks read from and write to.
///
/// Lives on the requesting thread, for the duration of one call.
final class HTTPExchange {
  private let body: HTTPBody
  private let sink: HTTPSink
  private let handOver: HandOver?
  private let watch: (@Sendable (HTTPProgress) -> Bool)?
  private let multiplexed: (@Sendable (Bool) -> Void)?
  private let memoryLimit: Int?
  private let mayBeRepeated: Bool
  private let isRepeat: Bool
  private let admits: (@Sendable ([UInt8]) -> Bool)?
  /// The address that was refused last, 4 or 16 bytes; nil if none was.
  private(set) var refusedAddress: [UInt8]?

  /// The most bytes of heads, those of 1xx responses and trailers with them. Newer versions of libcurl have a limit of 300 KB, and
  /// call it a broken connection.
  private static let maxHead = 256 << 10
  private var headBytes = 0
  private var sent: Int64 = 0
  private var received: Int64 = 0
  private var hasBegun = false
  /// The head as far as it was received; its status is 0 before any was.
  private(set) var head = HTTPHead(0)
  /// Whether the last head that started is complete.
  private(set) var isHeadWhole = false
  private(set) var kept: [UInt8] = []
  /// Why a callback stopped the exchange; libcurl's own code only says that one did.
  private(set) var failure: HTTPClientError?

  /// Whether the response came on a connection that takes several requests at once.
  private var isMultiplexed = false

  /// Whether the request was sent, and no line of a response came.
  private var isUnanswered = false
  /// Whether the request would have been sent a second time.
  private(set) var isToBeRepeated = false

  init(_ request: HTTPRequest, _ sink: HTTPSink, _ handOver: HandOver?) {
    body = request.body
    self.sink = sink
    self.handOver = handOver
    watch = request.watch
    multiplexed = request.multiplexed
    memoryLimit = request.memoryLimit
    mayBeRepeated = request.mayBeRepeated
    isRepeat = request.isRepeat
    admits = request.admits
  }

  /// The result of reading bytes to send.
  enum Reading {
    case bytes(Int)
    /// Nothing yet: the transfer pauses until it is resumed.
    case later
    case stop
  }

  /// The result of writing received bytes.
  enum Writing {
    case taken
    /// There is no room: the same bytes come again when the transfer is resumed.
    case later
    case stop
  }

  /// Fills `buffer` with the next bytes to send.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Reading {
    let left = (body.length ?? 0) - sent
    guard left > 0 else { return .bytes(0) }
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(min(left, Int64(buffer.count)))))
    if let handOver, case .stream = body {
      let count = handOver.read(at: sent, into: room)
      sent += Int64(count)
      return count > 0 ? .bytes(count) : .later
    }
    guard let count = fill(room) else { return .stop }
    guard count > 0 else {
      failure = .bodyEnded(at: sent)
      return .stop
    }
    sent += Int64(count)
    return .bytes(count)
  }

  /// Called before the request goes out on the connection that `line` names; returns false to prevent that.
  ///
  /// libcurl resends the request on each idle connection that turns out to be gone. A request that may have been carried
  /// out is resent only once, on a new connection.
  func isReady(on line: String) -> Bool {
    if isUnanswered, !mayBeRepeated {
      isToBeRepeated = true
      return false
    }
    isUnanswered = true
    handOver?.isReady(on: line)
    return true
  }

  /// Whether a connection to this address may be made.
  func mayConnect(to address: [UInt8]) -> Bool {
    guard let admits, !admits(address) else { return true }
    refusedAddress = address
    return false
  }

  private func fill(_ room: UnsafeMutableRawBufferPointer) -> Int? {
    switch body {
    case .none: return 0
    case .bytes(let bytes):
      bytes.withUnsafeBytes {
        room.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.dropFirst(Int(sent)).prefix(room.count)))
      }
      return room.count
    case .stream(_, let read):
      do {
        return try min(read(sent, room), room.count)
      } catch {
        failure = .callback(error)
        return nil
      }
    }
  }

  /// Restarts the body; libcurl calls this when an idle connection turned out to be gone.
  func seek(to offset: Int64) { sent = offset }

  /// Called when a reused connection that takes several requests at once was lost: the request has to be sent again if no
  /// response had started. libcurl does that by itself only over HTTP/1.1.
  func connectionEnded() {
    if mayBeRepeated, !isRepeat, isUnanswered, head.status == 0 { isToBeRepeated = true }
  }

  /// Handles one header line, including its line end; returns false to stop.
  func header(_ line: UnsafeRawBufferPointer) -> Bool {
    defer { isUnanswered = false }
    headBytes += line.count
    guard headBytes <= Self.maxHead else { return tooLong(Int64(Self.maxHead)) }
    let text = HeaderText.text(line)
    if text.hasPrefix("HTTP/") {
      // A trailer of that form; another response only starts after 1xx, or if a request was sent for it.
      if isHeadWhole, head.status >= 200, !isUnanswered { return true }
      isHeadWhole = false
      isMultiplexed = text.hasPrefix("HTTP/2") || text.hasPrefix("HTTP/3")
      let words = text.split(separator: " ", maxSplits: 2)
      head = HTTPHead(
        words.count > 1 ? Int(words[1].filter { !$0.isNewline }) ?? 0 : 0,
        reason: words.count > 2 && !isMultiplexed ? HTTPField.trimmed(words[2]) : nil)
    } else if text.utf8.first == 0x20 || text.utf8.first == 0x09 {
      // A folded line continues the previous one (RFC 9112 §5.2).
      head.fields.unfold(text)
    } else if let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) {
      let value = text[text.utf8.index(after: colon)...]
      head.fields.add(String(text[..<colon]), HTTPField.trimmed(value))
    } else if text == "\r\n" || text == "\n" {
      isHeadWhole = true
      return headEnded()
    }
    return true
  }

  /// A 1xx response is followed by another one, and trailers end like a head.
  private func headEnded() -> Bool {
    guard case .page(let begin, _) = sink, head.status >= 200, !hasBegun else { return true }
    hasBegun = true
    multiplexed?(isMultiplexed)
    if let handOver {
      handOver.take(head)
      return true
    }
    do {
      try begin(head)
      return true
    } catch {
      failure = .callback(error)
      return false
    }
  }

  /// Handles the next bytes of the response body.
  func write(_ bytes: UnsafeRawBufferPointer) -> Writing {
    guard let handOver else { return take(bytes) ? .taken : .stop }
    if let memoryLimit {
      guard handOver.take(bytes, upTo: memoryLimit) else {
        _ = tooLong(Int64(memoryLimit))
        return .stop
      }
      received += Int64(bytes.count)
      return .taken
    }
    // While one request of a shared connection is paused, libcurl 7 reads nothing for the others.
    guard handOver.take(bytes, spools: isMultiplexed) else { return .later }
    received += Int64(bytes.count)
    return .taken
  }

  private func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    received += Int64(bytes.count)
    switch sink {
    case .memory(let limit):
      guard received <= Int64(limit) else { return tooLong(Int64(limit)) }
      kept.append(contentsOf: bytes)
    case .stream(let limit, let write, let begin):
      guard (200..<300).contains(head.status) else {
        kept.append(contentsOf: bytes.prefix(max(0, 65_536 - kept.count)))
        return received <= 16 << 20 ? true : tooLong(16 << 20)
      }
      guard received <= limit else { return tooLong(limit) }
      do {
        if let begin, !hasBegun { try begin(head) }
        hasBegun = true
        try write(bytes)
      } catch {
        failure = .callback(error)
        return false
      }
    case .page(_, let write):
      do {
        try write(bytes)
      } catch {
        failure = .callback(error)
        return false
      }
    }
    return true
  }

  private func tooLong(_ limit: Int64) -> Bool {
    failure = .answerTooLong(limit: limit)
    return false
  }

  /// Reports the progress; returns false to stop.
  func progress() -> Bool {
    // The thread that waits for the response calls `watch` itself.
    guard let watch, handOver == nil else { return true }
    if watch(HTTPProgress(sent: sent, received: received)) { return true }
    failure = .cancelled
    return false
  }
}

extension HTTPRequest {
  /// The URL's host; nil if it has none.
  package var host: String? { Target(url)?.host }
}

/// The target of a URL, as libcurl parses it.
struct Target {
  let host: String
  let port: Int
  let isSecure: Bool

  /// Nil unless `url` is absolute, with scheme http or https and without a user or password.
  init?(_ url: String) {
    guard let parsed = curl_url() else { return nil }
    defer { curl_url_cleanup(parsed) }
    guard !url.utf8.contains(0), curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK,
      let scheme = Target.part(CURLUPART_SCHEME, of: parsed), scheme == "http" || scheme == "https",
      Target.part(CURLUPART_USER, of: parsed) == nil,
      let host = Target.part(CURLUPART_HOST, of: parsed),
      let port = Target.part(CURLUPART_PORT, of: parsed).flatMap({ Int($0) })
    else { return nil }
    self.host = host
    self.port = port
    isSecure = scheme == "https"
  }

  private static func part(_ part: CURLUPart, of parsed: OpaquePointer) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(parsed, part, &text, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK, let text else {
      return nil
    }
    defer { curl_free(text) }
    return String(cString: text)
  }
}
