import Manifests
import System
import Values

/// A version of a prefetch config or a policy, and how it was made.
package struct DocumentVersion: Codable, Hashable, Sendable {
  /// Counted separately for each document.
  package let version: ManifestVersion
  /// `push`, `rollback`, `restore`, `set`, `bypass`, `kill`, `resume`, `script`, or a kind that only a newer origin knows.
  package let kind: String
  /// The version whose content a rollback restored.
  @OrNull package var source: ManifestVersion?
  package let at: Moment
  package let author: String
  package let message: String
  /// The channel's newest release at that time, or 0 if there was none.
  package let manifestVersion: ManifestVersion
  /// For a prefetch config that went along with the candidate of a rollout and isn't, or never was, the channel's: the state of the
  /// rollout, as in `RolloutInfo`.
  package var rollout: String?

  package init(
    version: ManifestVersion, kind: String, source: ManifestVersion?, at: Moment, author: String,
    message: String, manifestVersion: ManifestVersion, rollout: String? = nil
  ) {
    self.rollout = rollout
    self.version = version
    self.kind = kind
    self.at = at
    self.author = author
    self.message = message
    self.manifestVersion = manifestVersion
    self.source = source
  }
}

/// `GET …/prefetch` and `GET …/policy`: the document of a version, and how it was made.
package struct DocumentAnswer: Codable, Sendable {
  /// Nil if there is no version yet, or if version 0 was asked for, which is empty.
  package var record: DocumentVersion?
  /// A prefetch config's array of pages; nil for a policy.
  package var config: JSONValue?
  package var policy: JSONValue?

  package var version: ManifestVersion { record?.version ?? .none }

  package init(_ record: DocumentVersion?, config: JSONValue? = nil, policy: JSONValue? = nil) {
    self.record = record
    self.config = config
    self.policy = policy
  }

  private enum CodingKeys: CodingKey { case config, policy, version }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let version = try container.decode(ManifestVersion.self, forKey: .version)
    record = version == .none ? nil : try DocumentVersion(from: decoder)
    config = try container.decodeIfPresent(JSONValue.self, forKey: .config)
    policy = try container.decodeIfPresent(JSONValue.self, forKey: .policy)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(config, forKey: .config)
    try container.encodeIfPresent(policy, forKey: .policy)
    if let record {
      try record.encode(to: encoder)
    } else {
      try container.encode(ManifestVersion.none, forKey: .version)
    }
  }
}

/// `GET …/prefetch/log` and `GET …/policy/log`: versions, newest first.
package struct DocumentVersions: Codable, Sendable {
  package let versions: [DocumentVersion]

  package init(versions: [DocumentVersion]) { self.versions = versions }
}

/// The result of a change.
package struct DocumentChangeAnswer: Codable, Sendable {
  /// False if the document already has that content.
  package let changed: Bool
  /// The newest version, or 0 if there is none.
  package let version: ManifestVersion
  package let manifestVersion: ManifestVersion
  /// The version that was made.
  package var made: DocumentVersion?
  /// The version before it.
  package var replaced: DocumentVersion?
  /// For a prefetch config that was pushed: the number of its calls and of its pages, and remarks about it.
  package var calls: Int?
  package var pages: Int?
  package var remarks: [JSONValue]?
  /// For a prefetch config that was pushed for a part of the devices: the rollout that it goes along with.
  package var rollout: RolloutInfo?
  /// For such a config: the row of the audit trail of the candidate that was made for it; nil if it joined an open rollout.
  package var receipt: String?
  /// The rollout whose prefetch config was replaced by one for all devices; its state is `open` or, if it had nothing else, `completed`.
  package var ended: RolloutInfo?
  /// The change that waits for approvals; absent for one that was made.
  package var scheduled: ScheduledInfo?

  /// The result of a change that waits: the newest version, and the act.
  package init(unchanged record: DocumentVersion?, scheduled: ScheduledInfo) {
    self.init(unchanged: record)
    self.scheduled = scheduled
  }

  /// The result of a change that made a version.
  package init(made: DocumentVersion, replaced: DocumentVersion?, ended: RolloutInfo? = nil) {
    self.ended = ended
    changed = true
    version = made.version
    manifestVersion = made.manifestVersion
    self.made = made
    self.replaced = replaced
  }

  /// The result of a change that made no version.
  package init(unchanged record: DocumentVersion?) {
    changed = false
    version = record?.version ?? .none
    manifestVersion = record?.manifestVersion ?? .none
  }

  private enum CodingKeys: CodingKey {
    case calls, changed, manifestVersion, openRollout, overtaken, pages, receipt, remarks, replaced, scheduled
    case version
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    changed = try container.decode(Bool.self, forKey: .changed)
    version = try container.decode(ManifestVersion.self, forKey: .version)
    manifestVersion = try container.decode(ManifestVersion.self, forKey: .manifestVersion)
    made = changed ? try DocumentVersion(from: decoder) : nil
    replaced = try container.decodeIfPresent(DocumentVersion.self, forKey: .replaced)
    calls = try container.decodeIfPresent(Int.self, forKey: .calls)
    pages = try container.decodeIfPresent(Int.self, forKey: .pages)
    remarks = try container.decodeIfPresent([JSONValue].self, forKey: .remarks)
    rollout = try container.decodeIfPresent(RolloutInfo.self, forKey: .openRollout)
    ended = try container.decodeIfPresent(RolloutInfo.self, forKey: .overtaken)
    receipt = try container.decodeIfPresent(String.self, forKey: .receipt)
    scheduled = try container.decodeIfPresent(ScheduledInfo.self, forKey: .scheduled)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(changed, forKey: .changed)
    try container.encodeIfPresent(calls, forKey: .calls)
    try container.encodeIfPresent(pages, forKey: .pages)
    try container.encodeIfPresent(remarks, forKey: .remarks)
    try container.encodeIfPresent(rollout, forKey: .openRollout)
    try container.encodeIfPresent(ended, forKey: .overtaken)
    try container.encodeIfPresent(receipt, forKey: .receipt)
    try container.encodeIfPresent(scheduled, forKey: .scheduled)
    if let made {
      try made.encode(to: encoder)
      try container.encode(replaced, forKey: .replaced)
    } else {
      try container.encode(version, forKey: .version)
      try container.encode(manifestVersion, forKey: .manifestVersion)
    }
  }
}
