import Backports

/// An answer's status line and fields, rendered once for many answers.
///
/// Date, Server, Connection and the empty line aren't included: the server writes them for each answer.
package struct RenderedHead: Sendable {
  /// The status.
  package let status: Status
  /// The rendered lines.
  package let bytes: SharedBytes

  /// Renders a head for a body of `contentLength` bytes; nil omits Content-Length, as for 204 and 304.
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

extension RenderedHead {
  /// The fields without Content-Length, for an answer with another body.
  package var fields: HeadFields {
    let head = bytes.bytes
    let start = (head.firstIndex(of: 0x0A) ?? -1) + 1
    return HeadFields(lines: head.extracting(start..<head.byteCount)).without("content-length")
  }
}

/// An answer's header lines, rendered in the order in which they were added.
package struct HeadFields: Sendable {
  /// `Name: value` lines, each ending with CRLF.
  package private(set) var lines: [UInt8] = []

  /// Creates an empty list.
  package init() {}

  /// Takes lines that are already rendered.
  fileprivate init(lines: RawSpan) { lines.withUnsafeBytes { self.lines = Array($0) } }

  /// Renders `fields` in order.
  package init(_ fields: [(StaticString, String)]) {
    for (name, value) in fields { add(name, value) }
  }

  /// Adds a line. Control bytes in `value` become spaces, so that no value can end its line.
  package mutating func add(_ name: StaticString, _ value: String) {
    RawSpan(name).withUnsafeBytes { lines.append(contentsOf: $0) }
    lines.append(contentsOf: [0x3A, 0x20])
    for byte in value.utf8 { lines.append((byte < 0x20 && byte != 0x09) || byte == 0x7F ? 0x20 : byte) }
    lines.append(contentsOf: [0x0D, 0x0A])
  }

  /// Returns the fields with another line.
  package func adding(_ name: StaticString, _ value: String) -> HeadFields {
    var fields = self
    fields.add(name, value)
    return fields
  }

  /// The fields without those that describe a body (`Content-…`), as in a 304 (RFC 9110 §15.4.5).
  ///
  /// Content-Security-Policy stays, since it governs what a page may do: a cache that stored the answer without it learns
  /// it from the 304.
  package var withoutContentFields: HeadFields {
    kept {
      $0.byteCount <= 8 || !$0.extracting(first: 8).equalsIgnoringCase("content-")
        || $0.equalsIgnoringCase("content-security-policy")
    }
  }

  /// Returns the fields without those named `name`, in lowercase.
  package func without(_ name: StaticString) -> HeadFields {
    kept { !$0.equalsIgnoringCase(name) }
  }

  /// Returns the lines whose name passes `test`.
  private func kept(_ test: (RawSpan) -> Bool) -> HeadFields {
    var kept = HeadFields()
    let bytes = lines.span.bytes
    var start = 0
    while let end = bytes.firstIndex(of: 0x0A, from: start) {
      let line = bytes.extracting(start..<end + 1)
      start = end + 1
      if test(line.extracting(0..<(line.firstIndex(of: 0x3A) ?? 0))) {
        line.withUnsafeBytes { kept.lines.append(contentsOf: $0) }
      }
    }
    return kept
  }

  /// Returns the value of the first line named `name`, in lowercase, or nil if there is none.
  package func value(of name: StaticString) -> String? {
    let span = lines.span.bytes
    var walk = FieldLines(span)
    return walk.next(named: RawSpan(name))?.text
  }
}
