/// An answer: a rendered head and a body.
///
/// A HEAD request gets the same value; the server leaves the body out.
package struct Response: Sendable {
  /// The status line and fields.
  package var head: RenderedHead
  /// The content after them.
  package var body: Body
  /// Whether the connection ends after this answer.
  package var closes = false

  /// The head's status.
  package var status: Status { head.status }

  /// Creates an answer with a head that is already rendered.
  package init(_ head: RenderedHead, _ body: Body = .none) {
    self.head = head
    self.body = body
  }

  /// Creates an answer and renders its head, with the body's length.
  package init(_ status: Status, _ fields: HeadFields = HeadFields(), _ body: Body = .none) {
    head = RenderedHead(status, fields, contentLength: body.count)
    self.body = body
  }

  /// Creates an answer with a text as its body.
  package init(
    _ status: Status, contentType: String, _ text: String, _ fields: [(StaticString, String)] = []
  ) {
    let fields = HeadFields([("Content-Type", contentType)] + fields)
    self.init(status, fields, .bytes(SharedBytes(text)))
  }
}

/// Writes the heads of answers: the rendered part, then Date, Server and Connection.
///
/// The latter are rendered once a second and appended to each head. Each event loop has its own writer.
package final class ResponseWriter {
  private let server: String
  private var second: Int64 = .min
  private var keptOpen = SharedBytes([])
  private var kept10 = SharedBytes([])
  private var closed = SharedBytes([])

  /// Creates a writer whose answers carry `Server: <server>`; an empty name omits the field.
  package init(server: String) { self.server = server }

  /// What a head says about the connection.
  package enum Connection: Sendable {
    /// It stays open, which is HTTP/1.1's default.
    case open
    /// It stays open, which HTTP/1.0 has to be told.
    case keepAlive
    case close
  }

  /// Renders the date again if the second has changed.
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

  /// Appends a whole head, including the empty line.
  package func write(_ head: RenderedHead, _ connection: Connection, to output: inout SendBuffer) {
    output.append(head.bytes)
    switch connection {
    case .open: output.append(keptOpen)
    case .keepAlive: output.append(kept10)
    case .close: output.append(closed)
    }
  }
}
