import System
import Values

/// What an app can change without a new build: interception, bypassed pages, injected scripts.
package struct Policy: Hashable, Sendable {
  /// A pattern of pages that must not be intercepted.
  package struct Bypass: Hashable, Sendable {
    /// The pages that are bypassed.
    package let pattern: MatchPattern
    /// When the entry expires; nil if never.
    package let until: Instant?

    package init(_ pattern: MatchPattern, until: Instant? = nil) {
      self.pattern = pattern
      self.until = until
    }
  }

  /// Whether pages are intercepted; if false, devices use only the network.
  package var intercept = true
  /// When an `intercept` of false expires; nil if never.
  package var until: Instant?
  /// Whether HTTP DNS may be used; if false, only the system resolves hosts.
  package var usesHTTPDNS = true
  /// The bypassed pages, each pattern once.
  package var bypass: [Bypass] = []
  /// The injected scripts, each name once.
  package var scripts: [PolicyScript] = []

  /// The policy of a channel before its first change.
  package static let none = Policy()

  package init() {}

  /// Whether the kill switch is on.
  package func isKilled(at now: Instant) -> Bool { !intercept && (until.map { now < $0 } ?? true) }

  /// Whether an app may answer a page and its resources from the device.
  package func intercepts(_ page: ResourceURL, at now: Instant) -> Bool {
    !isKilled(at: now)
      && !bypass.contains { entry in (entry.until.map { now < $0 } ?? true) && entry.pattern.matches(page) }
  }

  /// Returns the policy without its expired parts.
  package func current(at now: Instant) -> Policy {
    var policy = self
    if !intercept, !isKilled(at: now) {
      policy.intercept = true
      policy.until = nil
    }
    policy.bypass.removeAll { entry in entry.until.map { $0 <= now } ?? false }
    return policy
  }

  /// Adds an entry, replacing the one with the same pattern.
  package mutating func add(_ entry: Bypass) {
    if let i = bypass.firstIndex(where: { $0.pattern == entry.pattern }) {
      bypass[i] = entry
    } else {
      bypass.append(entry)
    }
  }

  /// Adds a script, replacing the one with the same name.
  package mutating func add(_ script: PolicyScript) {
    if let i = scripts.firstIndex(where: { $0.name == script.name }) {
      scripts[i] = script
    } else {
      scripts.append(script)
    }
  }
}

extension Policy {
  /// The maximum number of patterns in a policy.
  package static let patternLimit = 200
  /// The maximum number of scripts in a policy.
  package static let scriptLimit = 20

  /// The members of the document's `data`, without its version.
  ///
  /// `until` is when everything temporary expires: an `intercept` of false, and the entries of `bypass`.
  /// `bypassUntil` lists the entries that expire at another time, or never (null).
  package var json: JSONObject {
    let ends = Set(bypass.map(\.until))
    let common: Instant? = intercept ? (ends.count == 1 ? bypass.first?.until : nil) : until
    var object = JSONObject()
    object["bypass"] = .strings(bypass.map(\.pattern.text))
    let others = bypass.filter { $0.until != common }.map { entry in
      JSONObject.Member(key: entry.pattern.text, value: entry.until.map { .string($0.text) } ?? .null)
    }
    object["bypassUntil"] = others.isEmpty ? nil : .object(JSONObject(others))
    object["httpdns"] = usesHTTPDNS ? nil : .bool(false)
    object["intercept"] = .bool(intercept)
    object["scripts"] = .array(scripts.map(\.json))
    object["until"] = common.map { .string($0.text) }
    return object
  }

  /// Reads the members leniently, as a device does: unusable parts are ignored, and so are those beyond `DocumentBudget`.
  package init(reading value: JSONValue) {
    intercept = value["intercept"]?.bool ?? true
    usesHTTPDNS = value["httpdns"]?.bool ?? true
    let common = value["until"]?.string.flatMap { Instant($0) }
    until = intercept ? nil : common
    let ends = value["bypassUntil"]?.object
    var indices: [MatchPattern: Int] = [:]
    for text in (value["bypass"]?.array ?? []).lazy.compactMap(\.string) {
      // The rest isn't even looked at.
      if bypass.count == DocumentBudget.patterns { break }
      guard let pattern = try? MatchPattern(text) else { continue }
      let own = ends?[text] ?? ends?[pattern.text]
      let entry = Bypass(pattern, until: own.map { $0.string.flatMap { Instant($0) } } ?? common)
      if let index = indices[pattern] {
        bypass[index] = entry
      } else {
        indices[pattern] = bypass.count
        bypass.append(entry)
      }
    }
    for script in (value["scripts"]?.array ?? []).lazy.compactMap(PolicyScript.init(reading:))
    where scripts.count < DocumentBudget.scripts {
      add(script)
    }
  }
}

/// A point in time as in documents (RFC 3339, in UTC, to the second): `2026-12-01T00:00:00Z`.
package struct Instant: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Since 1970.
  package let seconds: Int64

  package init(seconds: Int64) { self.seconds = seconds }

  /// Creates the whole second of a time in milliseconds since 1970.
  package init(milliseconds: Int64) { seconds = Timestamp.wholeSeconds(milliseconds) }

  /// Parses an RFC 3339 time, with any offset and fractions of a second; nil for anything else.
  package init?(_ text: String) {
    guard let milliseconds = Timestamp.parse(text, needsSeconds: true) else { return nil }
    self.init(milliseconds: milliseconds)
  }

  /// Since 1970.
  package var milliseconds: Int64 { seconds * 1000 }

  package var text: String { CivilTime(seconds: seconds).text }

  package var description: String { text }

  package static func < (a: Instant, b: Instant) -> Bool { a.seconds < b.seconds }
}
