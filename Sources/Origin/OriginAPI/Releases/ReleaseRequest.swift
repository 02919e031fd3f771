import Manifests
import System
import Values

/// `POST …/releases` and `…/preparations`: changes to bundles of a channel in one release, all or nothing.
package struct ReleaseRequest: Sendable {
  /// The change to one bundle.
  package enum Change: Sendable {
    /// The bundle as of `base` (0 for empty), with the URLs of `set` set and those of `remove` removed.
    case update(
      BundleName, base: ManifestVersion, set: [(url: ResourceURL, content: ResourceContent)], remove: [String]
    )
    /// The bundle is removed as a whole.
    case unpublish(BundleName)
  }

  package let changes: [Change]
  package let options: ReleaseOptions

  package init(changes: [Change], options: ReleaseOptions) {
    self.changes = changes
    self.options = options
  }

  /// The request as JSON, written piece by piece, since a first publish may name 100,000 URLs. Its reader streams, too.
  package var json: [UInt8] {
    let options = JSONValue(encoding: options).object ?? JSONObject()
    // Members are sorted by name, and `bundles` has its place among them.
    let (before, after) = (
      options.members.filter { $0.key < "bundles" }, options.members.filter { $0.key > "bundles" }
    )
    var out = [UInt8(ascii: "{")]
    for member in before {
      Self.append(member, to: &out)
      out.append(UInt8(ascii: ","))
    }
    out.append(contentsOf: "\"bundles\":[".utf8)
    for (index, change) in changes.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      Self.append(change, to: &out)
    }
    out.append(UInt8(ascii: "]"))
    for member in after {
      out.append(UInt8(ascii: ","))
      Self.append(member, to: &out)
    }
    out.append(UInt8(ascii: "}"))
    return out
  }

  private static func append(_ member: JSONObject.Member, to out: inout [UInt8]) {
    CanonicalJSON.append(string: member.key, to: &out)
    out.append(UInt8(ascii: ":"))
    CanonicalJSON.append(member.value, to: &out)
  }

  private static func append(_ change: Change, to out: inout [UInt8]) {
    switch change {
    case .unpublish(let name):
      out.append(contentsOf: "{\"bundle\":\"\(name)\",\"unpublish\":true}".utf8)
    case .update(let name, let base, let set, let remove):
      out.append(contentsOf: "{\"base\":\"\(base)\",\"bundle\":\"\(name)\",\"remove\":".utf8)
      CanonicalJSON.append(.strings(remove), to: &out)
      out.append(contentsOf: ",\"set\":{".utf8)
      for (index, resource) in set.enumerated() {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        CanonicalJSON.append(string: resource.url.text, to: &out)
        out.append(UInt8(ascii: ":"))
        resource.content.appendJSON(to: &out)
      }
      out.append(contentsOf: "}}".utf8)
    }
  }
}

/// What a release names in place of its bundles.
package struct PlanReference: Codable, Sendable {
  /// The SHA-256 of the document that a preparation was given.
  package var plan: SHA256?
}

/// The members common to all acts that make a release.
package protocol ReleaseMembers: Codable, Sendable {
  /// The reason, for the log.
  var message: String? { get set }
  /// Whether it becomes visible at once, without waiting for deltas.
  var now: Bool? { get set }
  /// Whether to do everything but the release itself.
  var dryRun: Bool? { get set }
  /// Refuse the release if its target changed after this version: a number, or a moment at which it was live.
  var ifVersion: String? { get set }
  /// Why it is released although the channel is frozen.
  var breakGlass: String? { get set }
  /// Whom it goes to first; nil: to all.
  var rollout: RolloutTerms? { get set }
  /// True to refuse the release if it would end an open rollout, or change what its candidate is made on.
  var ifNoRollout: Bool? { get set }
  /// When it is to be made; nil: now.
  var schedule: Moment? { get set }
  /// Envelopes of release statements for the bundles that change, in an app with a root, beside those that the origin has.
  var statements: [JSONValue]? { get set }
}

/// The members of a release request other than its bundles.
package struct ReleaseOptions: ReleaseMembers, Hashable {
  /// Refuse the release if it would replace another version of the channel: what was worked out for it, such as its cost,
  /// applies to this one.
  package var replaces: ManifestVersion?
  package var message: String?
  package var now: Bool?
  package var dryRun: Bool?
  @OrNull package var ifVersion: String?
  package var breakGlass: String?
  package var rollout: RolloutTerms?
  package var ifNoRollout: Bool?
  /// When it is to be made; nil: now.
  package var schedule: Moment?
  /// False to refuse the release if its channel, or its app, doesn't exist; else it is created, if the token may do so.
  package var create: Bool?
  /// The URLs whose files are released although they look like secrets.
  package var allowSecrets: [String]?
  package var statements: [JSONValue]?
  /// True to record a release whose statements have too few signatures: it waits for the others. Else it is refused.
  package var awaitSignatures: Bool?

  package init(
    message: String = "", now: Bool = false, dryRun: Bool = false, ifVersion: String? = nil,
    breakGlass: String? = nil
  ) {
    self.message = message
    self.now = now
    self.dryRun = dryRun
    self.breakGlass = breakGlass
    self.ifVersion = ifVersion
  }
}

/// `POST …/preparations` for one that has begun.
package struct PreparationRequest: Codable, Sendable {
  package let id: String?

  package init(id: String?) { self.id = id }
}

extension ResourceContent {
  /// Appends `json` in its canonical form, written directly: a first release has 100,000 of these.
  package func appendJSON(to out: inout [UInt8]) {
    guard headers.isEmpty, fallbacks.isEmpty, !isLazy else { return CanonicalJSON.append(json, to: &out) }
    out.append(contentsOf: "{\"ctype\":".utf8)
    CanonicalJSON.append(string: ctype.text, to: &out)
    out.append(contentsOf: ",\"md5\":\"".utf8)
    md5.appendHex(to: &out)
    out.append(contentsOf: "\",\"sha256\":\"".utf8)
    sha256.appendHex(to: &out)
    out.append(contentsOf: "\",\"size\":".utf8)
    CanonicalJSON.append(integer: size, to: &out)
    out.append(UInt8(ascii: "}"))
  }
}
