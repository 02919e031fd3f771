import Backports

/// A parsed request, alive only during the call that hands it over: its pieces are in the connection's buffer.
package struct Request: ~Escapable {
  /// Where in the bytes everything stands.
  package let head: RequestHead
  let bytes: RawSpan
  /// Who asks: the connection's address, or what a trusted proxy says of it.
  package let peer: PeerAddress

  /// A request whose head was parsed, and its path normalised, in `bytes`.
  @_lifetime(copy bytes)
  @inline(__always)
  package init(_ head: RequestHead, in bytes: RawSpan, from peer: PeerAddress) {
    self.head = head
    self.bytes = bytes
    self.peer = peer
  }

  /// What is asked for.
  package var method: Method { head.method }
  /// How long its body is.
  package var bodyLength: BodyLength { head.bodyLength }
  /// The head says how long the body is, be it of no bytes, or that its end will be told.
  package var announcesBody: Bool {
    head.hasAny(FieldName.contentLength.bit | FieldName.transferEncoding.bit)
  }

  /// The normalised path, beginning with `/`; `*` for OPTIONS of the whole server.
  package var path: RawSpan {
    @_lifetime(copy self) get { bytes.extracting(head.path.range) }
  }

  /// The query as it was sent, without `?`; nil without one.
  package var query: RawSpan? {
    @_lifetime(copy self) get { head.hasQuery ? bytes.extracting(head.query.range) : nil }
  }

  /// The host and port that were asked for; nil when an HTTP/1.0 client names none.
  package var authority: RawSpan? {
    @_lifetime(copy self)
    get { head.authority.isAbsent ? nil : bytes.extracting(head.authority.range) }
  }

  /// The first value of a known field, without blanks around it.
  @_lifetime(copy self)
  package func field(_ name: FieldName) -> RawSpan? {
    guard head.has(name) else { return nil }
    return bytes.extracting(head.fields[Int(name.rawValue)].range)
  }

  /// The first value of any field; `name` is in lower case. Walks the head.
  @_lifetime(copy self)
  package func field(named name: StaticString) -> RawSpan? {
    var lines = fieldLines
    return lines.next(named: RawSpan(name))
  }

  /// Every header line in turn, for fields that may stand on several.
  package var fieldLines: FieldLines {
    @_lifetime(copy self) get { FieldLines(bytes.extracting(head.lines.range)) }
  }
}

/// A copy of a request's head that outlives the call, for answers that are made later.
package struct StoredRequest: Sendable {
  private let bytes: [UInt8]
  private let head: RequestHead
  private let peer: PeerAddress

  /// Copies the head of a request.
  package init(_ request: borrowing Request) {
    bytes = request.bytes.withUnsafeBytes { [UInt8]($0) }
    head = request.head
    peer = request.peer
  }

  /// The request, as long as the copy is held.
  package var request: Request {
    @_lifetime(borrow self) get { Request(head, in: bytes.span.bytes, from: peer) }
  }
}
