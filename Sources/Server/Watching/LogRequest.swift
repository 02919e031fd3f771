import HTTP

/// What an access line says of a request.
struct LogRequest {
  let peer: PeerAddress
  let method: StaticString
  /// The target as it was sent.
  let target: [UInt8]
  let isHTTP11: Bool
  let userAgent: [UInt8]

  /// Copies the words of a request whose path isn't normalised yet.
  init(_ head: borrowing RequestHead, in bytes: RawSpan, from peer: PeerAddress) {
    self.peer = peer
    method = head.method.name
    target = bytes.extracting(head.target.range).array
    isHTTP11 = head.isHTTP11
    userAgent =
      head.has(.userAgent)
      ? bytes.extracting(head.fields[Int(FieldName.userAgent.rawValue)].range).array : []
  }
}
