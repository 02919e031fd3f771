import HTTP
import System

/// Writes an answer of the network as it arrives.
final class ProxyRelay {
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
    isOpen = connection.beginAnswer()
    let hasBody = !isHEAD && head.status != 204 && head.status != 304
    // Two lengths, or one that is none, would be read differently by the engine.
    var headers = ProxyHead.endToEnd(NetworkHead.forwardable(head.headers))
    // A 407 isn't valid without this header (RFC 9110 §15.5.8).
    if head.status == 407 {
      for value in head.headers.values("proxy-authenticate") { headers.add("Proxy-Authenticate", value) }
    }
    remaining = hasBody ? headers["content-length"].flatMap { Int64($0) } : 0
    isChunked = hasBody && remaining == nil
    if isChunked { headers.add("Transfer-Encoding", "chunked") }
    if !isOpen { headers.add("Connection", "close") }
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
