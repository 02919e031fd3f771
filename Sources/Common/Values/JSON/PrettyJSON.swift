/// Formats JSON for people: two spaces per level, short arrays and objects of plain values on one line.
package enum PrettyJSON {
  /// Returns a value's text, without a final line break.
  package static func text(_ value: JSONValue) -> String {
    var out = ""
    append(value, indent: "", to: &out)
    return out
  }

  private static let width = 100

  private static func append(_ value: JSONValue, indent: String, to out: inout String) {
    let line = inline(value)
    if !line.contains("{", "[", after: 1), indent.count + line.count <= width {
      out += line
      return
    }
    switch value {
    case .array(let values):
      append(values.map { ("", $0) }, "[", "]", indent, to: &out)
    case .object(let object):
      append(object.members.map { (inline(.string($0.key)) + ": ", $0.value) }, "{", "}", indent, to: &out)
    default: out += line
    }
  }

  private static func append(
    _ items: [(label: String, value: JSONValue)], _ open: String, _ close: String, _ indent: String,
    to out: inout String
  ) {
    out += open
    for (i, item) in items.enumerated() {
      out += (i > 0 ? "," : "") + "\n\(indent)  \(item.label)"
      append(item.value, indent: indent + "  ", to: &out)
    }
    out += "\n\(indent)\(close)"
  }

  private static func inline(_ value: JSONValue) -> String {
    switch value {
    case .array(let values): "[" + values.map(inline).joined(separator: ", ") + "]"
    case .object(let object):
      "{" + object.members.map { inline(.string($0.key)) + ": " + inline($0.value) }.joined(separator: ", ")
        + "}"
    default: String(decoding: value.canonical, as: UTF8.self)
    }
  }
}

extension String {
  /// Whether either of two characters occurs after the first `start` ones.
  fileprivate func contains(_ a: Character, _ b: Character, after start: Int) -> Bool {
    dropFirst(start).contains { $0 == a || $0 == b }
  }
}
