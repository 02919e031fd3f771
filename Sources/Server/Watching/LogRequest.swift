import HTTP

/// What an access line says of a request, as far as it could be read.
struct LogRequest {
  let peer: PeerAddress
  let method: StaticString
  /// The target as it was sent; empty when none was read, and then the version isn't known either.
  let target: [UInt8]
  let isHTTP11: Bool
  let userAgent: [UInt8]

  /// Copies the words of a request whose path isn't normalised yet; of a head that was refused or broke off, those
  /// before that place.
  init(_ head: borrowing RequestHead, in bytes: RawSpan, from peer: PeerAddress) {
    self.peer = peer
    method = head.target.isAbsent ? Method.other.name : head.method.name
    target = bytes.extracting(head.target.range).array
    isHTTP11 = head.isHTTP11
    userAgent =
      head.has(.userAgent)
      ? bytes.extracting(head.fields[Int(FieldName.userAgent.rawValue)].range).array : []
  }

  /// A request of which nothing was read.
  init(from peer: PeerAddress) {
    self.peer = peer
    method = Method.other.name
    target = []
    isHTTP11 = true
    userAgent = []
  }
}
