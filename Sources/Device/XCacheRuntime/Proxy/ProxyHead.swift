import HTTP
import System

/// The head of a request, copied out of the connection's memory.
struct ProxyHead: Sendable {
  /// As it was sent: `GET`, `CONNECT`.
  let method: String
  /// As it was sent: `/index.html?a=1`, `m.example.com:443`.
  let target: String
  let headers: [(name: String, value: String)]
  /// Nil if there is no body; `.some(nil)` if its length isn't known in advance.
  let bodyLength: Int64??

  /// - Parameters:
  ///   - head: the parsed head.
  ///   - bytes: the bytes of that head, parsed without errors.
  init(_ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer) {
    // Empty lines before a request are skipped (RFC 9112 §2.2).
    let lines = bytes.split { $0 == 0x0D || $0 == 0x0A }
    let words = lines.first?.split(separator: 0x20).map { HeaderText.text($0) } ?? []
    method = words.first ?? ""
    target = words.count > 1 ? words[1] : ""
    headers = lines.dropFirst().compactMap { line in
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      let value = line[(colon + 1)...].drop(while: Self.isBlank)
      let end = value.lastIndex { !Self.isBlank($0) }.map { $0 + 1 } ?? value.startIndex
      return (HeaderText.text(line[..<colon]), HeaderText.text(value[..<end]))
    }
    switch head.bodyLength {
    case .none: bodyLength = .none
    case .length(let count): bodyLength = .some(.some(Int64(clamping: count)))
    case .chunked: bodyLength = .some(.none)
    }
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  /// Returns the value of the first header with this name, which has to be lowercase.
  func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }

  /// Whether the engine requests a WebSocket (RFC 6455 §4.1).
  var isWebSocket: Bool { header("upgrade")?.lowercased() == "websocket" }

  /// The head as it is passed on to a server, without the headers meant for a proxy.
  var passedOn: [UInt8] {
    var text = "\(method) \(target) HTTP/1.1\r\n"
    for (name, value) in headers where !name.lowercased().hasPrefix("proxy-") {
      text += "\(name): \(value)\r\n"
    }
    return HeaderText.bytes(text + "\r\n")
  }
}

extension ProxyHead {
  /// Hop-by-hop headers (RFC 9110 §7.6.1).
  private static let ofConnections: Set<String> = [
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te",
    "trailer",
    "transfer-encoding", "upgrade", "alt-svc",
  ]

  /// Headers that are kept even if `Connection` names them, because the next hop needs them.
  private static let neverOfConnections: Set<String> = ["content-length", "host"]

  /// Returns the headers without the hop-by-hop ones and those that `Connection` names.
  static func endToEnd(_ headers: [(name: String, value: String)]) -> [(name: String, value: String)] {
    let named = headers.filter { $0.name.lowercased() == "connection" }
      .flatMap { $0.value.split(separator: ",") }.map { $0.trimmingSpaces.lowercased() }
    let gone = ofConnections.union(named).subtracting(neverOfConnections)
    return headers.filter { !gone.contains($0.name.lowercased()) }
  }

  private static func isName(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
  }

  /// Returns the head of an answer as bytes, without headers that would break it or be taken for part of the previous line.
  /// If `reason` is nil, the status's usual phrase is used.
  static func answer(
    _ status: Int, reason: String? = nil, _ headers: [(name: String, value: String)]
  ) -> [UInt8] {
    let own = reason.flatMap { reason in reason.utf8.contains { $0 < 0x20 && $0 != 9 } ? nil : reason }
    let words = own ?? "\(Status(UInt16(clamping: status)).reason)"
    var head = HeaderText.bytes("HTTP/1.1 \(status) \(words)\r\n")
    for (name, value) in headers where isName(name) {
      guard !value.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) else { continue }
      head += HeaderText.bytes("\(name): \(value)\r\n")
    }
    return head + [0x0D, 0x0A]
  }
}
