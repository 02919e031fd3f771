import HTTP
import System
import XCacheDevice

/// One request and its response on one connection.
struct StreamExchange {
  private let request: NetworkRequest
  private let url: RequestAddress
  private let stream: any ProxyStream
  private let stallSeconds: Int
  private var parser: AnswerParser
  private var decoder: ContentDecoder?
  /// Whether any byte of a response has arrived.
  private(set) var hasBegun = false
  /// Whether the response is complete.
  private var isOver = false
  /// Whether the server has indicated that it doesn't want the rest of the body.
  private var isRefused = false

  /// The number of bytes to read or write at a time.
  private static let chunkSize = 64 << 10
  /// Milliseconds after which a waiting thread checks whether to go on.
  private static let checkInterval = 500
  /// The same while sending a body that the server doesn't read.
  private static let uploadCheckInterval = 100

  init(_ request: NetworkRequest, _ url: RequestAddress, _ stream: any ProxyStream, stallSeconds: Int) {
    self.request = request
    self.url = url
    self.stream = stream
    self.stallSeconds = stallSeconds
    parser = AnswerParser(isHEAD: request.method == "HEAD")
  }

  /// Sends the request and delivers the response; returns whether the connection may carry another request.
  mutating func run(
    _ begin: (NetworkHead) -> Bool, _ receive: (RawSpan) -> Bool
  ) throws(TransportError) -> Bool {
    // A server that has seen enough of a body may respond and hang up; that response counts.
    let isSent = try send(begin, receive)
    try deliverAvailable(begin, receive)
    while !isOver {
      try wait()
      try deliverAvailable(begin, receive)
    }
    return isSent && parser.keepsConnection && !parser.hasMore
  }

  // MARK: - The request

  /// Headers that only this type writes.
  private static let ownHeaders: Set<String> = [
    "accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "te", "trailer",
    "transfer-encoding", "upgrade",
  ]

  /// Returns the head as it is sent.
  private func head() throws(TransportError) -> [UInt8] {
    let isToken = { (text: String) in
      !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
    }
    guard isToken(request.method) else { throw TransportError(.other, "not a method: \(request.method)") }
    var text = "\(request.method) \(url.target) HTTP/1.1\r\nHost: \(url.authority)\r\n"
    for field in request.headers.without(Self.ownHeaders) {
      // Other control characters end no line, and browsers send them (Fetch standard §2.2.2).
      guard isToken(field.name), field.value.utf8.allSatisfy({ $0 != 0x0D && $0 != 0x0A && $0 != 0 }) else {
        throw TransportError(
          .other, "the header \"\(field.name)\" has no name or contains a line break or NUL")
      }
      text += "\(field.name): \(field.value)\r\n"
    }
    // A part of coded data can't be decoded.
    let isPart = request.headers.contains("range")
    text += "Accept-Encoding: \(isPart ? "identity" : "gzip")\r\n"
    if let length { text += "Content-Length: \(length)\r\n" }
    return HeaderText.bytes(text + "\r\n")
  }

  /// The length of the body; nil if there is none and the method doesn't call for one (RFC 9110 §8.6).
  private var length: Int64? {
    switch request.body {
    case .none: ["POST", "PUT", "PATCH"].contains(request.method) ? 0 : nil
    case .bytes(let bytes): Int64(bytes.count)
    case .stream(let length, _): length
    }
  }

  /// Sends the request, and delivers whatever arrives of the response meanwhile, so that the two sides don't block each
  /// other. Returns false if the other side stopped reading.
  private mutating func send(
    _ begin: (NetworkHead) -> Bool, _ receive: (RawSpan) -> Bool
  ) throws(TransportError) -> Bool {
    var bytes = try head()
    if case .bytes(let body) = request.body, body.count <= Self.chunkSize {
      bytes += body
      return try write(bytes)
    }
    guard try write(bytes) else { return false }
    guard let length, length > 0 else { return true }
    let writer: StreamWriter
    do {
      writer = try StreamWriter(stream, within: stallSeconds * 1000)
    } catch {
      throw TransportError(.other, "the system has no thread left")
    }
    var offset: Int64 = 0
    while offset < length {
      let next = try body(from: offset, Int(min(length - offset, Int64(Self.chunkSize))))
      writer.write(next)
      var isWritten: Bool?
      repeat {
        isWritten = writer.isDone(within: Self.uploadCheckInterval)
        if request.isCancelled() { throw Self.stopped }
        if !isOver, try read(within: 0) { try deliverAvailable(begin, receive) }
        if isRefused || parser.isOver || isWritten == false { return false }
      } while isWritten == nil
      offset += Int64(next.count)
    }
    return true
  }

  private func body(from offset: Int64, _ limit: Int) throws(TransportError) -> [UInt8] {
    switch request.body {
    case .none: return []
    case .bytes(let bytes): return Array(bytes[Int(offset)..<Int(offset) + limit])
    case .stream(_, let read):
      do {
        let bytes = try [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
          count = min(limit, max(0, try read(offset, UnsafeMutableRawBufferPointer(buffer))))
        }
        if bytes.isEmpty { throw TransportError(.other, "the request body ended early, at \(offset)") }
        return bytes
      } catch let error as TransportError {
        throw error
      } catch {
        throw TransportError(.other, "\(error)")
      }
    }
  }

  private func write(_ bytes: [UInt8]) throws(TransportError) -> Bool {
    if request.isCancelled() { throw Self.stopped }
    return bytes.withUnsafeBytes { stream.write($0, within: stallSeconds * 1000) }
  }

  // MARK: - The answer

  private static let stopped = TransportError(.stopped, "the caller ended it")

  /// Delivers everything that has arrived.
  private mutating func deliverAvailable(
    _ begin: (NetworkHead) -> Bool, _ receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    while !isOver, try step(begin, receive) {}
  }

  /// Delivers the next item that has arrived; returns false if there is none.
  private mutating func step(
    _ begin: (NetworkHead) -> Bool, _ receive: (RawSpan) -> Bool
  ) throws(TransportError) -> Bool {
    if request.isCancelled() { throw Self.stopped }
    switch parser.next() {
    case .more: return false
    case .malformed(let reason):
      throw TransportError(parser.isOver ? .broken : .other, "\(url.host): \(reason)")
    case .head(let head):
      // "If the client sees a response that indicates the server does not wish to receive the message body", it stops (RFC 9112 §9.5).
      isRefused = head.status >= 400
      request.multiplexed(false)
      guard begin(decoded(head)) else { throw Self.stopped }
    case .body(let bytes): try deliver(bytes, receive)
    case .end:
      try decoder?.finish()
      isOver = true
    }
    return true
  }

  /// Returns the head as the page gets it, for a decoded body.
  private mutating func decoded(_ head: HTTPHead) -> NetworkHead {
    let decoded = NetworkHead.decoded(head, to: request, host: url.host)
    decoder = decoded.decoder
    return decoded.head
  }

  private func deliver(_ bytes: [UInt8], _ receive: (RawSpan) -> Bool) throws(TransportError) {
    guard let decoder else {
      guard receive(bytes.span.bytes) else { throw Self.stopped }
      return
    }
    do {
      try decoder.decode(bytes.span.bytes) { guard receive($0) else { throw Self.stopped } }
    } catch let error as TransportError {
      throw error
    } catch {
      throw TransportError(.other, "\(error)")
    }
  }

  /// Waits for bytes, until the server has been silent for too long.
  private mutating func wait() throws(TransportError) {
    let end = ContinuousClock.now.advanced(by: .seconds(stallSeconds))
    while try !read(within: Self.checkInterval) {
      if request.isCancelled() { throw Self.stopped }
      guard ContinuousClock.now < end else {
        throw TransportError(.timedOut, "\(url.host) took too long to answer")
      }
    }
  }

  /// Feeds received bytes, or the connection's end, to the parser; returns false if nothing arrived.
  private mutating func read(within milliseconds: Int) throws(TransportError) -> Bool {
    let stream = stream
    var isSilent = false
    let bytes = [UInt8](unsafeUninitializedCapacity: Self.chunkSize) { buffer, count in
      let read = stream.read(into: UnsafeMutableRawBufferPointer(buffer), within: milliseconds)
      isSilent = read == nil
      count = read ?? 0
    }
    if isSilent { return false }
    if bytes.isEmpty { parser.close(isBroken: stream.isBroken) } else { hasBegun = true }
    parser.add(bytes)
    return true
  }
}
