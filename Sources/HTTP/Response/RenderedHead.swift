/// An answer's status line and fields as bytes that many answers share.
///
/// Date, Server, Connection and the empty line are not in it: the server writes them for each answer.
package struct RenderedHead: Sendable {
  package let status: Status
  package let bytes: SharedBytes

  /// The head of an answer whose body has `contentLength` bytes; nil leaves Content-Length out, as 204 and 304
  /// have it.
  package init(_ status: Status, _ fields: HeadFields, contentLength: UInt64?) {
    self.status = status
    var head = Array("HTTP/1.1 \(status.code) ".utf8)
    RawSpan(status.reason).withUnsafeBytes { head.append(contentsOf: $0) }
    head.append(contentsOf: [0x0D, 0x0A])
    head.append(contentsOf: fields.lines)
    if let contentLength, !status.isBodyless {
      head.append(contentsOf: "Content-Length: \(contentLength)\r\n".utf8)
    }
    bytes = SharedBytes(head)
  }
}
