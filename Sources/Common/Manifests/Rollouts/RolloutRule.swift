import Values

/// Who follows a channel's candidate: the member `rollout` of answers (`docs/protocol.md`, section 13).
package struct RolloutRule: Hashable, Sendable {
  /// The number of buckets, of which `share` is a part.
  package static let all = 10_000
  /// The maximum number of groups.
  package static let groupLimit = 20

  /// The candidate.
  package let version: ManifestVersion
  /// What buckets are made from, with the install id: 1 to 64 characters.
  package let seed: String
  /// How many of 10,000 buckets are in.
  package let share: Int
  /// The groups whose members are in, ordered, each once.
  package let groups: [String]
  /// The app versions that may be in; nil for all.
  package let app: AppVersionRange?
  /// The version of the prefetch config that the candidate's devices follow; nil: the same as all others.
  package let prefetch: Int64?

  /// Creates a rule; nil if a value is outside of what the protocol allows.
  package init?(
    version: ManifestVersion, seed: String, share: Int, groups: [String] = [], app: AppVersionRange? = nil,
    prefetch: Int64? = nil
  ) {
    guard version > .none, prefetch.map({ $0 > 0 }) ?? true, Self.isSeed(seed),
      (0...Self.all).contains(share),
      groups.count <= Self.groupLimit, groups.allSatisfy(Self.isGroup),
      zip(groups, groups.dropFirst()).allSatisfy({ UTF8Order.precedes($0, $1) })
    else { return nil }
    self.version = version
    self.seed = seed
    self.share = share
    self.groups = groups
    self.app = app
    self.prefetch = prefetch
  }

  /// Whether a text may be a seed.
  package static func isSeed(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        ASCII.isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
      }
  }

  /// Whether a text may be the name of a group: `[a-z][a-z0-9-]{0,31}`.
  package static func isGroup(_ text: String) -> Bool {
    guard (1...32).contains(text.utf8.count), let first = text.utf8.first, ASCII.isLower(first) else {
      return false
    }
    return text.utf8.allSatisfy { ASCII.isLower($0) || ASCII.isDigit($0) || $0 == UInt8(ascii: "-") }
  }

  /// Whether an installation follows the candidate.
  package func includes(_ installation: Installation) -> Bool {
    guard installation.leftSeed != seed, includesApp(installation.appVersion) else { return false }
    return installation.takenSeed == seed || installation.id.bucket(seed: seed) < share
      || groups.contains { installation.groups.contains($0) }
  }

  /// Whether an app of this version may follow the candidate; nil if it is unknown or isn't a version.
  package func includesApp(_ version: AppVersion?) -> Bool {
    guard let app else { return true }
    return version.map(app.contains) ?? false
  }
}

/// What decides whether a device is in a rollout.
package struct Installation: Hashable, Sendable {
  /// Made at the first start.
  package var id: InstallID
  /// The version of the app; nil if it is unknown, or isn't a version.
  package var appVersion: AppVersion?
  /// The groups that the app gave it.
  package var groups: Set<String>
  /// The seed of the candidate that the device holds; nil if it holds a full version.
  package var takenSeed: String?
  /// The seed of the candidate that the app left.
  package var leftSeed: String?

  package init(
    id: InstallID, appVersion: AppVersion? = nil, groups: Set<String> = [], takenSeed: String? = nil,
    leftSeed: String? = nil
  ) {
    self.id = id
    self.appVersion = appVersion
    self.groups = groups
    self.takenSeed = takenSeed
    self.leftSeed = leftSeed
  }
}

extension RolloutRule {
  /// Reads a rule. Unknown members are skipped.
  ///
  /// - Throws: `member("rollout")`, for anything that isn't a rule.
  package init(reading json: JSONValue) throws(JSONError) {
    guard json.object != nil, let version = json["version"]?.string.flatMap({ ManifestVersion(text: $0) }),
      let seed = json["seed"]?.string, let share = json["share"].flatMap(Self.share)
    else { throw .member("rollout") }
    var groups: [String] = []
    if let member = json["groups"] {
      guard let names = member.array, !names.isEmpty else { throw .member("rollout") }
      for name in names {
        guard let text = name.string else { throw .member("rollout") }
        groups.append(text)
      }
    }
    var app: AppVersionRange?
    if let member = json["app"] {
      guard let text = member.string, let range = try? AppVersionRange(text) else {
        throw .member("rollout")
      }
      app = range
    }
    var prefetch: Int64?
    if let member = json["prefetch"] {
      guard let version = member.string.flatMap({ ManifestVersion(text: $0) }) else {
        throw .member("rollout")
      }
      prefetch = version.number
    }
    guard
      let rule = RolloutRule(
        version: version, seed: seed, share: share, groups: groups, app: app, prefetch: prefetch)
    else { throw .member("rollout") }
    self = rule
  }

  /// However it is written: parsers in other languages don't tell 500 from 5e2.
  private static func share(_ value: JSONValue) -> Int? {
    guard case .number(let text) = value else { return nil }
    return Double(text).flatMap { Int(exactly: $0) }
  }

  /// The rule as in answers.
  package var json: JSONValue {
    var members = JSONObject()
    if let app { members["app"] = .string(app.text) }
    if !groups.isEmpty { members["groups"] = .strings(groups) }
    if let prefetch { members["prefetch"] = .string(String(prefetch)) }
    members["seed"] = .string(seed)
    members["share"] = .integer(share)
    members["version"] = .string(version.text)
    return .object(members)
  }
}
