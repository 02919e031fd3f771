import Backports
import Values

/// A parsed request, valid only during the call that passes it: its parts are in the connection's buffer.
package struct Request: ~Escapable {
  /// The offsets of all parts.
  package let head: RequestHead
  let bytes: RawSpan
  /// The client's address: the connection's, or what a trusted proxy says.
  package let peer: IPAddress

  /// Creates a request whose head is in `bytes`, parsed and with its path normalised.
  @_lifetime(copy bytes)
  @inline(__always)
  package init(_ head: RequestHead, in bytes: RawSpan, from peer: IPAddress) {
    self.head = head
    self.bytes = bytes
    self.peer = peer
  }

  /// The method.
  package var method: Method { head.method }
  /// The length of the body.
  package var bodyLength: BodyLength { head.bodyLength }
  /// Whether the head announces a body, if only an empty one: it has a length or a transfer coding.
  package var announcesBody: Bool {
    head.hasAny(FieldName.contentLength.bit | FieldName.transferEncoding.bit)
  }

  /// The normalised path, beginning with `/`; `*` for OPTIONS of the whole server.
  package var path: RawSpan {
    @_lifetime(copy self) get { bytes.extracting(head.path.range) }
  }

  /// The query as it was sent, without `?`; nil if there is none.
  package var query: RawSpan? {
    @_lifetime(copy self) get { head.hasQuery ? bytes.extracting(head.query.range) : nil }
  }

  /// The requested host and port; nil if an HTTP/1.0 client names none.
  package var authority: RawSpan? {
    @_lifetime(copy self)
    get { head.authority.isAbsent ? nil : bytes.extracting(head.authority.range) }
  }

  /// Returns the first value of a known field, without surrounding blanks.
  @_lifetime(copy self)
  package func field(_ name: FieldName) -> RawSpan? {
    guard head.has(name) else { return nil }
    return bytes.extracting(head.fields[Int(name.rawValue)].range)
  }

  /// Returns the first value of any field; `name` is in lowercase. Searches the head.
  @_lifetime(copy self)
  package func field(named name: StaticString) -> RawSpan? {
    var lines = fieldLines
    return lines.next(named: RawSpan(name))
  }

  /// All header lines, for fields that may be on several.
  package var fieldLines: FieldLines {
    @_lifetime(copy self) get { FieldLines(bytes.extracting(head.lines.range)) }
  }
}
