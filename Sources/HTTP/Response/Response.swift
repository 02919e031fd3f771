/// An answer: a rendered head and a body.
///
/// A HEAD request gets the same value; the server leaves the body out.
package struct Response: Sendable {
  package var head: RenderedHead
  package var body: Body
  /// The connection ends after this answer.
  package var closes = false

  package var status: Status { head.status }

  /// An answer whose head was rendered before.
  package init(_ head: RenderedHead, _ body: Body = .none) {
    self.head = head
    self.body = body
  }

  /// An answer whose head is rendered here, with the body's length.
  package init(_ status: Status, _ fields: HeadFields = HeadFields(), _ body: Body = .none) {
    head = RenderedHead(status, fields, contentLength: body.count)
    self.body = body
  }

  /// An answer with a text or document of its own.
  package init(
    _ status: Status, contentType: String, _ text: String, _ fields: [(StaticString, String)] = []
  ) {
    let fields = HeadFields([("Content-Type", contentType)] + fields)
    self.init(status, fields, .bytes(SharedBytes(text)))
  }
}
