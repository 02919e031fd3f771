import HTTP
import System

/// The head of a request, copied out of the connection's memory.
struct ProxyHead: Sendable {
  /// As it was sent: `GET`, `CONNECT`.
  let method: String
  /// As it was sent: `/index.html?a=1`, `m.example.com:443`.
  let target: String
  let headers: HTTPFields
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
    var fields = HTTPFields()
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
      fields.add(
        HeaderText.text(line[..<colon]), HTTPField.trimmed(HeaderText.text(line[(colon + 1)...])[...]))
    }
    headers = fields
    switch head.bodyLength {
    case .none: bodyLength = .none
    case .length(let count): bodyLength = .some(.some(Int64(clamping: count)))
    case .chunked: bodyLength = .some(.none)
    }
  }

  /// Whether the engine requests a WebSocket (RFC 6455 §4.1).
  var isWebSocket: Bool { headers["upgrade"]?.lowercased() == "websocket" }

  /// The head as it is passed on to a server, without the headers meant for a proxy.
  var forwarded: [UInt8] {
    var text = "\(method) \(target) HTTP/1.1\r\n"
    for field in headers where !field.name.lowercased().hasPrefix("proxy-") {
      text += "\(field.name): \(field.value)\r\n"
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
  static func endToEnd(_ headers: HTTPFields) -> HTTPFields {
    let named = headers.members("connection")
    return headers.without(ofConnections.union(named).subtracting(neverOfConnections))
  }

  private static func isName(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
  }

  /// Returns the head of an answer as bytes, without headers that would break it or be taken for part of the previous line.
  /// If `reason` is nil, the status's usual phrase is used.
  static func answer(
    _ status: Int, reason: String? = nil, _ headers: HTTPFields
  ) -> [UInt8] {
    let own = reason.flatMap { reason in reason.utf8.contains { $0 < 0x20 && $0 != 9 } ? nil : reason }
    let words = own ?? "\(Status(UInt16(clamping: status)).reason)"
    var head = HeaderText.bytes("HTTP/1.1 \(status) \(words)\r\n")
    for field in headers where isName(field.name) {
      guard !field.value.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) else { continue }
      head += HeaderText.bytes("\(field.name): \(field.value)\r\n")
    }
    return head + [0x0D, 0x0A]
  }
}
