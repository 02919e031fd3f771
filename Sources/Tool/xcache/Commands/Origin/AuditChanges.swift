import Values

/// Formats what a row of the audit trail says was changed: `+https://pay.example.com/*`, `interval none → 60`.
struct AuditChanges {
  private let changes: JSONObject

  init(_ changes: JSONObject) { self.changes = changes }

  var text: String { changes.members.map(Self.text).joined(separator: ", ") }

  private static func text(_ member: JSONObject.Member) -> String {
    if let items = member.value.array {
      return "\(member.key) \(items.compactMap(\.string).joined(separator: ","))"
    }
    if member.value["from"] != nil || member.value["to"] != nil {
      return "\(member.key) \(word(member.value["from"])) → \(word(member.value["to"]))"
    }
    let marked =
      texts(member.value["added"]).map { "+\($0)" } + texts(member.value["removed"]).map { "−\($0)" }
    return "\(member.key) \(marked.joined(separator: " "))"
  }

  private static func texts(_ list: JSONValue?) -> [String] { (list?.array ?? []).compactMap(\.string) }

  private static func word(_ value: JSONValue?) -> String {
    switch value ?? .null {
    case .null: "none"
    case .bool(let flag): flag ? "on" : "off"
    case .string(let text): text
    case .array: texts(value).joined(separator: ",")
    case let other: String(decoding: other.canonical, as: UTF8.self)
    }
  }
}
