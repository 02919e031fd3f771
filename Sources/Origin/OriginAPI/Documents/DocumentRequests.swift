import Values

/// A change to a prefetch config or a policy: the members common to both.
package protocol DocumentChangeRequest: Codable, Sendable {
  /// Why, for the log.
  var message: String? { get set }
  /// Refuse the change if the document changed after this version: a number, or a time at which it was live.
  var ifVersion: String? { get set }
}

/// A change to a prefetch config, which a freeze refuses.
package protocol PrefetchChangeRequest: DocumentChangeRequest {
  /// The reason to override a freeze.
  var breakGlass: String? { get set }
}

/// `POST …/prefetch`: a config to make the newest version.
package struct PrefetchPushRequest: PrefetchChangeRequest {
  /// The whole document, or its config array.
  package var document: JSONValue?
  package var message: String?
  package var ifVersion: String?
  package var breakGlass: String?
  /// Whom it goes to first, along with the candidate of the rollout; nil: to all.
  package var rollout: RolloutTerms?
  /// Refuse it if a rollout is open.
  package var ifNoRollout: Bool?
  /// The envelope of its prefetch statement, in an app with a root.
  package var statement: JSONValue?

  package init(document: JSONValue) { self.document = document }
}

/// `POST …/prefetch/rollback`: makes the content of an earlier version the newest.
package struct PrefetchRollbackRequest: PrefetchChangeRequest {
  /// A number, or a time at which it was live; 0 means the empty state before the first push.
  package var to: String?
  package var message: String?
  package var ifVersion: String?
  package var breakGlass: String?

  package init(to: String) { self.to = to }
}

/// `POST …/policy`: one change to the policy.
package struct PolicyRequest: DocumentChangeRequest {
  /// The changes that can be made.
  package enum Act: String, CaseIterable, Sendable {
    case set, kill, resume
    case bypassAdd = "bypass-add"
    case bypassRemove = "bypass-remove"
    case scriptAdd = "script-add"
    case scriptRemove = "script-remove"
  }

  /// The raw value of an `Act`.
  package var act: String?
  /// For `set`: the whole policy.
  package var document: JSONValue?
  /// For `bypass-add` and `bypass-remove`: the pages concerned.
  package var pattern: String?
  /// For `kill` and `bypass-add`: when it expires; nil means when it is taken back.
  package var until: String?
  /// For `script-add` and `script-remove`.
  package var name: String?
  /// For `script-add`: the script and its Ed25519 signature, in base64.
  package var bytes: String?
  package var signature: String?
  package var message: String?
  package var ifVersion: String?

  package init(_ act: Act) { self.act = act.rawValue }
}

/// `GET …/settings`, and the answer to a change.
package struct ChannelSettings: Codable, Hashable, Sendable {
  /// Seconds between two polls of a device; nil if devices aren't asked for an interval.
  @OrNull package var interval: Int?
  /// The hosts whose URLs a release may name; nil means all.
  @OrNull package var hosts: [String]?
  /// How many of every 10,000 report batches devices are asked to send; nil means all.
  @OrNull package var reports: Int?
  /// Whether devices send error samples; nil from older origins, which don't know them.
  package var samples: Bool?
  /// How many error samples were forgotten by switching them off; absent in other answers.
  package var forgottenSamples: Int?

  package init(interval: Int?, hosts: [String]? = nil, reports: Int? = nil) {
    self.interval = interval
    self.hosts = hosts
    self.reports = reports
  }
}

/// `POST …/settings`: settings that aren't given keep their values.
package struct ChannelSettingsRequest: Codable, Sendable {
  /// Seconds, or null for none.
  package var interval: JSONValue?
  /// An array of host names, or null for all hosts.
  package var hosts: JSONValue?
  /// 0 to 10,000, or null for the devices' default.
  package var reports: JSONValue?
  /// Whether devices send error samples. False also forgets those that are kept.
  package var samples: Bool?

  /// A request that changes nothing.
  package init() {}

  package init(interval: Int?) { self.interval = interval.map { .integer($0) } ?? .null }

  private enum CodingKeys: CodingKey { case interval, hosts, reports, samples }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    // Null is a setting's value, unlike an absent member.
    func value(_ key: CodingKeys) throws -> JSONValue? {
      container.contains(key) ? try container.decode(JSONValue.self, forKey: key) : nil
    }
    interval = try value(.interval)
    hosts = try value(.hosts)
    reports = try value(.reports)
    samples = try container.decodeIfPresent(Bool.self, forKey: .samples)
  }
}
