import Manifests
import System
import Values

/// What a new version of a document changed, for the audit trail.
///
/// A value has `{"from":…,"to":…}`, a list `{"added":[…],"removed":[…]}`; what stayed isn't there.
struct DocumentDifference {
  private var changes = JSONObject()

  /// Compares a new version with the one that it replaces.
  init(_ document: ChannelDocument, from old: DocumentRecord?, to new: DocumentRecord) {
    switch document {
    case .policy: compare(old?.policy ?? .none, new.policy)
    case .prefetch: compare(Self.pages(old), Self.pages(new))
    }
  }

  /// Nil if nothing that a reader knows changed.
  var json: JSONValue? { changes.isEmpty ? nil : .object(changes) }

  private mutating func compare(_ old: Policy, _ new: Policy) {
    list("bypass", old.bypass.map(Self.text), new.bypass.map(Self.text))
    value("httpdns", .bool(old.usesHTTPDNS), .bool(new.usesHTTPDNS))
    value("intercept", .bool(old.intercept), .bool(new.intercept))
    list("scripts", old.scripts.map(Self.text), new.scripts.map(Self.text))
    value("until", Self.end(old), Self.end(new))
  }

  private static func text(_ entry: Policy.Bypass) -> String {
    entry.until.map { "\(entry.pattern) until \($0)" } ?? "\(entry.pattern)"
  }

  private static func text(_ script: PolicyScript) -> String { "\(script.name) \(script.sha256)" }

  private static func end(_ policy: Policy) -> JSONValue { policy.until.map { .string($0.text) } ?? .null }

  /// Returns the pages of a prefetch config, each as text, by URL.
  private static func pages(_ record: DocumentRecord?) -> [String: [UInt8]] {
    let config = record.flatMap { try? JSONValue.parse($0.content) } ?? []
    return Dictionary(
      (config.array ?? []).compactMap { page in page["url"]?.string.map { ($0, page.canonical) } },
      uniquingKeysWith: { first, _ in first })
  }

  private mutating func compare(_ old: [String: [UInt8]], _ new: [String: [UInt8]]) {
    list("pages", old.keys.sorted(), new.keys.sorted())
    let same = old.keys.filter { new[$0] != nil && new[$0] != old[$0] }.sorted()
    if !same.isEmpty { changes["changed"] = Self.list(same) }
  }

  private mutating func value(_ name: String, _ old: JSONValue, _ new: JSONValue) {
    if old != new { changes[name] = .change(from: old, to: new) }
  }

  private mutating func list(_ name: String, _ old: [String], _ new: [String]) {
    let (added, removed) = (new.filter { !old.contains($0) }, old.filter { !new.contains($0) })
    if added.isEmpty, removed.isEmpty { return }
    changes[name] = ["added": Self.list(added), "removed": Self.list(removed)]
  }

  /// The most items of a list that a row names; `policy show` and `prefetch show --version` have all.
  private static let maxListed = 50

  fileprivate static func list(_ items: [String]) -> JSONValue {
    .strings(
      items.prefix(maxListed) + (items.count > maxListed ? ["… and \(items.count - maxListed) more"] : []))
  }
}

extension JSONValue {
  /// A changed value in the audit trail.
  static func change(from old: JSONValue, to new: JSONValue) -> JSONValue { ["from": old, "to": new] }

  /// What was removed from a list, in the audit trail.
  static func removed(_ items: [String]) -> JSONValue { ["removed": DocumentDifference.list(items)] }
}

extension SettingsChange {
  /// What the change changes, for the audit trail; nil if nothing.
  func difference(from channel: ChannelInfo, _ extras: ChannelExtras) -> JSONValue? {
    var changes = JSONObject()
    func note(_ name: String, _ old: JSONValue, _ new: JSONValue?) {
      if let new, new != old { changes[name] = .change(from: old, to: new) }
    }
    func number(_ value: Int?) -> JSONValue { value.map { .integer($0) } ?? .null }
    func names(_ list: HostList?) -> JSONValue { list.map { .strings($0.names) } ?? .null }
    note("hosts", names(channel.hosts), hosts.map(names))
    note("interval", number(extras.interval), interval.map(number))
    note("reports", number(extras.reports), reports.map(number))
    note("samples", .bool(extras.takesSamples), samples.map { .bool($0) })
    return changes.isEmpty ? nil : .object(changes)
  }
}
