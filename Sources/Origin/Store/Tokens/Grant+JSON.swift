import Manifests
import Values

extension Grant {
  /// The grant as rows and the audit trail have it.
  var json: JSONValue {
    [
      "app": app.map { .string($0.text) } ?? .null, "bundles": bundles.map { .string($0.text) } ?? .null,
      "channel": channel.map { .string($0.text) } ?? .null, "scope": .string(scope.rawValue),
    ]
  }

  /// The text that `Stored.grants` parses; nil for none.
  static func text(of grants: [Grant]) -> String? {
    if grants.isEmpty { return nil }
    return String(decoding: JSONValue.array(grants.map(\.json)).canonical, as: UTF8.self)
  }
}

extension Stored {
  /// Parses the grants of a session; NULL means that it has none beside the first.
  static func grants(_ text: String?) throws(StoreError) -> [Grant] {
    guard let text else { return [] }
    guard let json = try? JSONValue.parse(Array(text.utf8)), let values = json.array else {
      throw .corruptRow(text)
    }
    var grants: [Grant] = []
    for value in values {
      guard let scope = value["scope"]?.string.flatMap(TokenScope.init) else { throw .corruptRow(text) }
      grants.append(
        Grant(
          scope,
          app: try member("app", of: value).map { (text) throws(StoreError) in try app(text) },
          channel: try member("channel", of: value).map { (text) throws(StoreError) in try channel(text) },
          bundles: try member("bundles", of: value).map { (text) throws(StoreError) in try bundles(text) }))
    }
    return grants
  }

  /// A member that is a string or null. Any other value would seem to limit nothing.
  private static func member(_ name: String, of value: JSONValue) throws(StoreError) -> String? {
    guard let member = value[name] else { throw .corruptRow("a grant without \(name)") }
    if case .null = member { return nil }
    guard let text = member.string else { throw .corruptRow("a grant whose \(name) is no string") }
    return text
  }

  /// Parses a pattern of bundle names.
  static func bundles(_ text: String) throws(StoreError) -> BundleGlob {
    guard let glob = BundleGlob(text) else { throw .corruptRow(text) }
    return glob
  }
}
