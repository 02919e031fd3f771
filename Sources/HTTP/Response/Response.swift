/// An answer: a rendered head and a body.
///
/// A HEAD request gets the same value; the server leaves the body out.
package struct Response: Sendable {
  /// Its status line and fields.
  package var head: RenderedHead
  /// What follows them.
  package var body: Body
  /// The connection ends after this answer.
  package var closes = false

  /// The head's status.
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

/// Writes the heads of answers: the rendered part, then Date, Server and Connection.
///
/// The last part is rendered once a second and copied after each head. One loop's own.
package final class ResponseWriter {
  private let server: String
  private var second: Int64 = .min
  private var keptOpen = SharedBytes([])
  private var kept10 = SharedBytes([])
  private var closed = SharedBytes([])

  /// A writer whose answers carry `Server: <server>`; an empty name leaves the field out.
  package init(server: String) { self.server = server }

  /// What a head says about the connection.
  package enum Connection: Sendable {
    /// It stays open, as HTTP/1.1 does without a word.
    case open
    /// It stays open, said in the way of HTTP/1.0.
    case keepAlive
    case close
  }

  /// Renders the date again when the second has changed.
  package func tick(_ now: Int64) {
    guard now != second else { return }
    second = now
    var common = HeadFields()
    common.add("Date", HTTPDate(now).description)
    if !server.isEmpty { common.add("Server", server) }
    keptOpen = SharedBytes(common.lines + [0x0D, 0x0A])
    kept10 = SharedBytes(common.adding("Connection", "keep-alive").lines + [0x0D, 0x0A])
    closed = SharedBytes(common.adding("Connection", "close").lines + [0x0D, 0x0A])
  }

  /// Appends a whole head, the empty line included.
  package func write(_ head: RenderedHead, _ connection: Connection, to output: inout SendBuffer) {
    output.append(head.bytes)
    switch connection {
    case .open: output.append(keptOpen)
    case .keepAlive: output.append(kept10)
    case .close: output.append(closed)
    }
  }
}
