import Backports

/// An answer's status line and fields as bytes that many answers share.
///
/// Date, Server, Connection and the empty line are not in it: the server writes them for each answer.
package struct RenderedHead: Sendable {
  /// What the status line says.
  package let status: Status
  /// The rendered lines.
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

extension RenderedHead {
  /// The fields, without Content-Length: for an answer that is to differ in its body.
  package var fields: HeadFields {
    let head = bytes.bytes
    let start = (head.firstIndex(of: 0x0A) ?? -1) + 1
    return HeadFields(lines: head.extracting(start..<head.byteCount)).without("content-length")
  }
}

/// The header lines of an answer, rendered in the order they were added.
package struct HeadFields: Sendable {
  /// `Name: value` lines, each ending with CRLF.
  package private(set) var lines: [UInt8] = []

  /// No lines.
  package init() {}

  /// Lines that are rendered already.
  fileprivate init(lines: RawSpan) { lines.withUnsafeBytes { self.lines = Array($0) } }

  /// Lines for `fields` in turn.
  package init(_ fields: [(StaticString, String)]) {
    for (name, value) in fields { add(name, value) }
  }

  /// Adds a line. A control byte in `value` becomes a space, so that no value can end its line.
  package mutating func add(_ name: StaticString, _ value: String) {
    RawSpan(name).withUnsafeBytes { lines.append(contentsOf: $0) }
    lines.append(contentsOf: [0x3A, 0x20])
    for byte in value.utf8 { lines.append((byte < 0x20 && byte != 0x09) || byte == 0x7F ? 0x20 : byte) }
    lines.append(contentsOf: [0x0D, 0x0A])
  }

  /// The fields with one more line.
  package func adding(_ name: StaticString, _ value: String) -> HeadFields {
    var fields = self
    fields.add(name, value)
    return fields
  }

  /// The fields without those that describe a body (`Content-…`), as a 304 has them (RFC 9110 §15.4.5).
  ///
  /// Content-Security-Policy is about what a page may do: a cache learns it with the 304 for an answer that it stored
  /// without.
  package var withoutContentFields: HeadFields {
    kept {
      $0.byteCount <= 8 || !$0.extracting(first: 8).equalsIgnoringCase("content-")
        || $0.equalsIgnoringCase("content-security-policy")
    }
  }

  /// The fields but those named `name`, in lower case.
  package func without(_ name: StaticString) -> HeadFields {
    kept { !$0.equalsIgnoringCase(name) }
  }

  /// The lines whose name passes `test`.
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

  /// The value of the first line named `name`, in lower case; nil without one.
  package func value(of name: StaticString) -> String? {
    let span = lines.span.bytes
    var walk = FieldLines(span)
    return walk.next(named: RawSpan(name))?.text
  }
}
