import Glibc
import Linux
import TLSPeer

/// A blocking client on one socket, which can break every rule.
final class TestClient {
  let socket: Int32
  /// The TLS session, if the server uses TLS.
  private(set) var tls: TLSPeer?
  private let speaksTLS: Bool
  private var buffered: [UInt8] = []

  /// A client that connects now, or later if asked to; reads give up after `seconds`.
  init(
    _ address: SocketAddress, receiveBuffer: Int32? = nil, seconds: Int = 10, connects: Bool = true,
    speaksTLS: Bool = TestServer.speaksTLS
  ) {
    self.speaksTLS = speaksTLS
    socket = Glibc.socket(address.ip.isV6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if var size = receiveBuffer {
      setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    var time = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    if connects { connect(address) }
  }

  private(set) var isConnected = false

  deinit { Glibc.close(socket) }

  /// Sends everything; false if the server has closed.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var done = 0
    if let tls { return bytes.isEmpty || tls.send(bytes) == .bytes(bytes.count) }
    while done < bytes.count {
      let count = bytes[done...].withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      done += count
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool { send([UInt8](text.utf8)) }

  /// Shuts down sending, and continues to read.
  func finishSending() {
    tls?.sendCloseNotify()
    _ = Glibc.shutdown(socket, Int32(SHUT_WR))
  }

  /// Closes with a reset instead of an orderly end.
  func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    _ = Glibc.shutdown(socket, Int32(SHUT_RDWR))
  }

  /// One answer; nil if the server closed or was silent for too long before its end.
  func answer(toHead: Bool = false) -> TestAnswer? {
    while true {
      if let answer = TestAnswer(&buffered, toHead: toHead) { return answer }
      guard readMore() else { return nil }
    }
  }

  /// The first line of the next answer, and nothing more.
  func line() -> String? {
    while true {
      if let end = buffered.firstIndex(of: 0x0A) {
        let line = String(decoding: buffered[..<end], as: UTF8.self)
        buffered.removeSubrange(...end)
        return line.replacing("\r", with: "")
      }
      guard readMore() else { return nil }
    }
  }

  /// At most `count` bytes of what has been or is received next.
  func read(_ count: Int) -> [UInt8] {
    if buffered.isEmpty { return receive(count) }
    defer { buffered.removeFirst(min(count, buffered.count)) }
    return [UInt8](buffered.prefix(count))
  }

  /// Everything until the server closes; nil if it doesn't in time.
  func rest() -> [UInt8]? {
    while readMore() {}
    guard isEnded else { return nil }
    return buffered
  }

  /// The server has closed its side.
  private(set) var isEnded = false

  /// Whether the server closes, with FIN or RST, without sending anything before.
  func isClosedByServer() -> Bool { rest()?.isEmpty == true }

  private func readMore() -> Bool {
    let part = receive(65_536)
    buffered += part
    return !part.isEmpty
  }

  /// The next bytes; none if the server closed or was silent for too long.
  private func receive(_ room: Int) -> [UInt8] {
    var chunk = [UInt8](repeating: 0, count: room)
    if let tls {
      switch tls.receive(into: &chunk) {
      case .bytes(let count): return [UInt8](chunk[..<count])
      case .end:
        isOrderly = true
        isEnded = true
      // The socket's timeout, which libssl reports as nothing to read.
      case .failed: isEnded = true
      case .wouldBlock, .done: break
      }
      return []
    }
    let count = recv(socket, &chunk, room, 0)
    if count == 0 || (count < 0 && errno == ECONNRESET) { isEnded = true }
    return [UInt8](chunk[..<max(count, 0)])
  }

  /// The server has sent close_notify.
  private(set) var isOrderly = false

  func connect(_ address: SocketAddress) {
    isConnected = connected(address)
    guard isConnected, speaksTLS else { return }
    let peer = TLSPeer(socket)
    if peer.handshake() != .done { isEnded = true }
    tls = peer
  }

  private func connected(_ address: SocketAddress) -> Bool {
    if !address.ip.isV6 {
      var own = sockaddr_in()
      own.sin_family = sa_family_t(AF_INET)
      own.sin_port = address.port.bigEndian
      inet_pton(AF_INET, address.host, &own.sin_addr)
      return withUnsafePointer(to: &own) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
    }
    var own = sockaddr_in6()
    own.sin6_family = sa_family_t(AF_INET6)
    own.sin6_port = address.port.bigEndian
    inet_pton(AF_INET6, address.host, &own.sin6_addr)
    return withUnsafePointer(to: &own) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
      }
    }
  }
}

/// An answer as a client sees it.
struct TestAnswer {
  let status: Int
  let fields: [(name: String, value: String)]
  let body: [UInt8]

  var text: String { String(decoding: body, as: UTF8.self) }
  var closes: Bool { self["connection"] == "close" }

  subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

  /// Parses an answer from the front of `bytes`; nil, and `bytes` unchanged, if it is incomplete.
  init?(_ bytes: inout [UInt8], toHead: Bool) {
    guard let end = TestAnswer.headEnd(bytes) else { return nil }
    let lines = String(decoding: bytes[..<(end - 4)], as: UTF8.self).split(separator: "\r\n")
    guard let first = lines.first, let status = Int(first.split(separator: " ")[1]) else { return nil }
    self.status = status
    fields = lines.dropFirst().map { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      return (parts[0].lowercased(), parts.count > 1 ? String(parts[1].dropFirst()) : "")
    }
    let hasBody = !toHead && status != 304 && status != 204 && status >= 200
    let length = hasBody ? fields.first { $0.name == "content-length" }.flatMap { Int($0.value) } ?? 0 : 0
    guard bytes.count >= end + length else { return nil }
    body = [UInt8](bytes[end..<(end + length)])
    bytes.removeSubrange(..<(end + length))
  }

  private static func headEnd(_ bytes: [UInt8]) -> Int? {
    var index = 3
    while index < bytes.count {
      if bytes[index] == 0x0A, bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A { return index + 1 }
      index += 1
    }
    return nil
  }
}
