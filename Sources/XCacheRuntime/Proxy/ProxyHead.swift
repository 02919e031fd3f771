import HTTP
import System

/// A request's head, taken out of the connection's memory.
struct ProxyHead: Sendable {
  /// As it was sent: `GET`, `CONNECT`.
  let method: String
  /// As it was sent: `/index.html?a=1`, `m.example.com:443`.
  let target: String
  let headers: [(name: String, value: String)]
  /// Nil: there is no body; `.some(nil)`: its end will be told.
  let bodyLength: Int64??

  /// - Parameter bytes: those of a head that was parsed without error.
  init(_ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer) {
    // Empty lines before a request are passed over (RFC 9112 §2.2).
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

  /// The first header of a name in lower case.
  func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }

  /// Whether the engine asks for a WebSocket (RFC 6455 §4.1).
  var isWebSocket: Bool { header("upgrade")?.lowercased() == "websocket" }

  /// The head as it goes on to a server, without what is meant for a proxy.
  var passedOn: [UInt8] {
    var text = "\(method) \(target) HTTP/1.1\r\n"
    for (name, value) in headers where !name.lowercased().hasPrefix("proxy-") {
      text += "\(name): \(value)\r\n"
    }
    return HeaderText.bytes(text + "\r\n")
  }
}

extension ProxyHead {
  /// Headers of one connection, which end with it (RFC 9110 §7.6.1).
  private static let ofConnections: Set<String> = [
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te",
    "trailer",
    "transfer-encoding", "upgrade", "alt-svc",
  ]

  /// What `Connection` may name, and is needed behind it all the same.
  private static let neverOfConnections: Set<String> = ["content-length", "host"]

  /// Headers without those of one connection, which are also those that `Connection` names.
  static func endToEnd(_ headers: [(name: String, value: String)]) -> [(name: String, value: String)] {
    let named = headers.filter { $0.name.lowercased() == "connection" }
      .flatMap { $0.value.split(separator: ",") }.map { $0.trimmingSpaces.lowercased() }
    let gone = ofConnections.union(named).subtracting(neverOfConnections)
    return headers.filter { !gone.contains($0.name.lowercased()) }
  }

  private static func isName(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
  }

  /// The head of an answer, as bytes; a line that would break it, or be taken for a part of the one before, is left out.
  /// - Parameter reason: nil: the usual one of the status.
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
