import Manifests
import Values

/// Who may sign which releases: a member of a root's `releases`.
package struct ReleaseGrant: Hashable, Sendable {
  /// What a list of names or prefixes covers.
  package enum Scope<Element: Hashable & Sendable>: Hashable, Sendable {
    /// Everything: `["*"]`.
    case all
    /// What is listed.
    case some([Element])
  }

  /// A bundle's name, or the beginning of names: `activity-*`.
  package struct BundlePattern: Hashable, Sendable {
    /// The name, or what names begin with.
    let text: String
    /// Whether the names that begin with `text` are meant.
    let isPrefix: Bool

    /// Reads a name, or the beginning of one with `*` behind it; nil for anything else.
    package init?(_ pattern: String) {
      isPrefix = pattern.utf8.last == UInt8(ascii: "*")
      text = isPrefix ? String(pattern.dropLast()) : pattern
      // What a name may begin with is a name.
      guard (try? BundleName(text)) != nil else { return nil }
    }

    /// The pattern as it is written.
    var pattern: String { isPrefix ? text + "*" : text }

    func matches(_ name: BundleName) -> Bool {
      isPrefix ? name.text.utf8.starts(with: text.utf8) : UTF8Order.areEqual(name.text, text)
    }
  }

  /// What URLs begin with: a URL without a query that ends in a slash, so that it has a whole host, and whole segments.
  package struct URLPrefix: Hashable, Sendable {
    let text: String

    /// Nil unless the text is such a URL in the form of docs/protocol.md §4.
    package init?(_ text: String) {
      guard let url = try? ResourceURL(text), UTF8Order.areEqual(url.text, text), url.query == nil,
        text.utf8.last == UInt8(ascii: "/")
      else { return nil }
      self.text = text
    }

    func covers(_ url: ResourceURL) -> Bool { url.text.utf8.starts(with: text.utf8) }
  }

  /// The maximum number of channels, bundles and prefixes.
  package static let listLimit = 256

  /// The keys of which `threshold` must sign.
  package let signers: KeyGroup
  package let channels: Scope<ChannelName>
  package let bundles: Scope<BundlePattern>
  /// What the URLs of a bundle must begin with.
  package let prefixes: Scope<URLPrefix>

  package init(
    signers: KeyGroup, channels: Scope<ChannelName> = .all, bundles: Scope<BundlePattern> = .all,
    prefixes: Scope<URLPrefix> = .all
  ) {
    self.signers = signers
    self.channels = channels
    self.bundles = bundles
    self.prefixes = prefixes
  }

  /// Whether it is about a bundle of a channel.
  package func covers(_ bundle: BundleName, in channel: ChannelName) -> Bool {
    channels.contains { $0 == channel } && bundles.contains { $0.matches(bundle) }
  }

  /// Whether it is about a URL.
  package func covers(_ url: ResourceURL) -> Bool { prefixes.contains { $0.covers(url) } }
}

extension ReleaseGrant.Scope {
  func contains(_ isMeant: (Element) -> Bool) -> Bool {
    switch self {
    case .all: true
    case .some(let elements): elements.contains(where: isMeant)
    }
  }
}

extension ReleaseGrant {
  init(json: JSONValue) throws(TrustFormError) {
    self.init(
      signers: try KeyGroup(json: json), channels: try Self.scope(json, "channels") { try? ChannelName($0) },
      bundles: try Self.scope(json, "bundles") { BundlePattern($0) },
      prefixes: try Self.scope(json, "prefixes") { URLPrefix($0) })
  }

  /// A missing list would be a typing mistake that allows everything, so there must be one, and `*` stands alone.
  private static func scope<Element>(
    _ json: JSONValue, _ key: String, _ read: (String) -> Element?
  ) throws(TrustFormError) -> Scope<Element> {
    if json[key] == ["*"] { return .all }
    return .some(try json.list(key, 1...listLimit, read))
  }

  var json: JSONValue {
    var object = signers.members
    object["channels"] = channels.json(\.text)
    object["bundles"] = bundles.json(\.pattern)
    object["prefixes"] = prefixes.json(\.text)
    return .object(object)
  }
}

extension ReleaseGrant.Scope {
  fileprivate func json(_ text: (Element) -> String) -> JSONValue {
    switch self {
    case .all: ["*"]
    case .some(let elements):
      .strings(elements.map(text).sorted { UTF8Order.precedes($0, $1) })
    }
  }
}

/// Keys, and how many of them must sign.
package struct KeyGroup: Hashable, Sendable {
  /// The maximum number of keys.
  package static let limit = 16
  /// The highest threshold: with the thresholds of two roots, their signatures fit into one envelope.
  package static let thresholdLimit = 8

  /// The ids, ordered, each once.
  package let keys: [KeyID]
  /// How many of them must sign.
  package let threshold: Int

  /// Nil unless there are as many keys as must sign, and no more than allowed.
  package init?(_ keys: Set<KeyID>, threshold: Int = 1) {
    guard (1...Self.thresholdLimit).contains(threshold), (threshold...Self.limit).contains(keys.count) else {
      return nil
    }
    self.keys = keys.sorted()
    self.threshold = threshold
  }

  init(json: JSONValue) throws(TrustFormError) {
    let keys = try json.list("keys", 1...Self.limit) { KeyID(text: $0) }
    let threshold = try json.required("threshold", \.integer)
    guard let group = KeyGroup(Set(keys), threshold: Int(threshold)) else { throw .member("threshold") }
    self = group
  }

  var members: JSONObject {
    var object = JSONObject()
    object["keys"] = .strings(keys.map(\.text))
    object["threshold"] = .integer(threshold)
    return object
  }

  /// Whether enough of the keys are among `signers`, in which each occurs once.
  package func isMet(by signers: [KeyID]) -> Bool {
    keys.count { signers.contains($0) } >= threshold
  }
}
