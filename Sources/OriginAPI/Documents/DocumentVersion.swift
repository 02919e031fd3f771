import Manifests

/// A version of a prefetch config or a policy, and how it came to be.
package struct DocumentVersion: Codable, Hashable, Sendable {
  /// Of the document's own counter.
  package let version: ManifestVersion
  /// `push`, `rollback`, `restore`, `set`, `bypass`, `kill`, `resume`, `script`, or what a newer origin has.
  package let kind: String
  /// The version whose content a rollback brought back.
  @OrNull package var source: ManifestVersion?
  package let at: Moment
  package let author: String
  package let message: String
  /// The channel's newest release then; 0: none yet.
  package let manifestVersion: ManifestVersion

  package init(
    version: ManifestVersion, kind: String, source: ManifestVersion?, at: Moment, author: String,
    message: String, manifestVersion: ManifestVersion
  ) {
    self.version = version
    self.kind = kind
    self.at = at
    self.author = author
    self.message = message
    self.manifestVersion = manifestVersion
    self.source = source
  }
}

/// `GET …/prefetch` and `GET …/policy`: the document of a version, with how it came to be.
package struct DocumentAnswer: Codable, Sendable {
  /// Nil: there is no version yet, or version 0 was asked for, which is nothing.
  package var record: DocumentVersion?
  /// A prefetch config's array of pages; nil: it is a policy.
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

/// `GET …/prefetch/log` and `GET …/policy/log`: the newest first.
package struct DocumentVersions: Codable, Sendable {
  package let versions: [DocumentVersion]

  package init(versions: [DocumentVersion]) { self.versions = versions }
}

/// What became of a change.
package struct DocumentChangeAnswer: Codable, Sendable {
  /// False: the document is that already.
  package let changed: Bool
  /// The newest version; 0: there is none.
  package let version: ManifestVersion
  package let manifestVersion: ManifestVersion
  /// The version that was made.
  package var made: DocumentVersion?
  /// The one before it.
  package var replaced: DocumentVersion?
  /// Of a prefetch config that was pushed: its calls, its pages, and what is to be said of it.
  package var calls: Int?
  package var pages: Int?
  package var remarks: [JSONValue]?

  /// A change that made a version.
  package init(made: DocumentVersion, replaced: DocumentVersion?) {
    changed = true
    version = made.version
    manifestVersion = made.manifestVersion
    self.made = made
    self.replaced = replaced
  }

  /// One that changed nothing.
  package init(unchanged record: DocumentVersion?) {
    changed = false
    version = record?.version ?? .none
    manifestVersion = record?.manifestVersion ?? .none
  }

  private enum CodingKeys: CodingKey {
    case calls, changed, manifestVersion, pages, remarks, replaced, version
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
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(changed, forKey: .changed)
    try container.encodeIfPresent(calls, forKey: .calls)
    try container.encodeIfPresent(pages, forKey: .pages)
    try container.encodeIfPresent(remarks, forKey: .remarks)
    if let made {
      try made.encode(to: encoder)
      try container.encode(replaced, forKey: .replaced)
    } else {
      try container.encode(version, forKey: .version)
      try container.encode(manifestVersion, forKey: .manifestVersion)
    }
  }
}
