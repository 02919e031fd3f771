import Manifests

/// A change of a prefetch config or a policy: what each of them says beside.
package protocol DocumentChangeRequest: Codable, Sendable {
  /// Why, for the log.
  var message: String? { get set }
  /// Refuse where the document changed after this version: a number, or a time at which it was live.
  var ifVersion: String? { get set }
}

/// `POST …/prefetch`: a config that is to be the newest version.
package struct PrefetchPushRequest: DocumentChangeRequest {
  /// Whole, or its config array.
  package var document: JSONValue?
  package var message: String?
  package var ifVersion: String?

  package init(document: JSONValue) { self.document = document }
}

/// `POST …/prefetch/rollback`: the content of an earlier version is to be the newest one.
package struct PrefetchRollbackRequest: DocumentChangeRequest {
  /// A number, or a time at which it was live; 0: what was before the first push, nothing.
  package var to: String?
  package var message: String?
  package var ifVersion: String?

  package init(to: String) { self.to = to }
}

/// `POST …/policy`: one act on the policy.
package struct PolicyRequest: DocumentChangeRequest {
  /// What can be done.
  package enum Act: String, CaseIterable, Sendable {
    case set, kill, resume
    case bypassAdd = "bypass-add"
    case bypassRemove = "bypass-remove"
    case scriptAdd = "script-add"
    case scriptRemove = "script-remove"
  }

  /// An `Act`.
  package var act: String?
  /// Of `set`: the whole policy.
  package var document: JSONValue?
  /// Of `bypass-add` and `bypass-remove`: which pages are meant.
  package var pattern: String?
  /// Of `kill` and `bypass-add`: when it lapses; nil: once it is taken back.
  package var until: String?
  /// Of `script-add` and `script-remove`.
  package var name: String?
  /// Of `script-add`: the script, and its Ed25519 signature, in base64.
  package var bytes: String?
  package var signature: String?
  package var message: String?
  package var ifVersion: String?

  package init(_ act: Act) { self.act = act.rawValue }
}

/// `GET …/settings`, and the answer to a change.
package struct ChannelSettings: Codable, Hashable, Sendable {
  /// Seconds between two polls of a device; nil: it isn't asked for any.
  @OrNull package var interval: Int?
  /// The hosts whose URLs a release may name; nil: all.
  @OrNull package var hosts: [String]?
  /// Of 10,000 batches of what devices count, how many they are asked to send; nil: all.
  @OrNull package var reports: Int?

  package init(interval: Int?, hosts: [String]? = nil, reports: Int? = nil) {
    self.interval = interval
    self.hosts = hosts
    self.reports = reports
  }
}

/// `POST …/settings`: what isn't given stays as it is.
package struct ChannelSettingsRequest: Codable, Sendable {
  /// Seconds, or null for none.
  package var interval: JSONValue?
  /// An array of names, or null for all hosts.
  package var hosts: JSONValue?
  /// 0 to 10,000, or null for what devices do unasked.
  package var reports: JSONValue?

  /// Nothing.
  package init() {}

  package init(interval: Int?) { self.interval = interval.map { .integer($0) } ?? .null }

  private enum CodingKeys: CodingKey { case interval, hosts, reports }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    // Null is a value of a setting.
    func value(_ key: CodingKeys) throws -> JSONValue? {
      container.contains(key) ? try container.decode(JSONValue.self, forKey: key) : nil
    }
    interval = try value(.interval)
    hosts = try value(.hosts)
    reports = try value(.reports)
  }
}

extension OriginClient {
  // MARK: - Prefetch config

  /// - Parameter version: a number, or a time at which it was live; nil: the newest.
  package func prefetch(of channel: ChannelAddress, version: String? = nil) throws(OriginError)
    -> OriginAnswer<DocumentAnswer>
  {
    try get("\(channel.path)/prefetch\(Self.query(version))")
  }

  /// Makes a config the newest version.
  package func pushPrefetch(_ request: PrefetchPushRequest, to channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<DocumentChangeAnswer>
  {
    try send(OriginCall("POST", "\(channel.path)/prefetch", request))
  }

  /// Brings the content of an earlier version back.
  package func rollBackPrefetch(_ request: PrefetchRollbackRequest, in channel: ChannelAddress)
    throws(OriginError) -> OriginAnswer<DocumentChangeAnswer>
  {
    try send(OriginCall("POST", "\(channel.path)/prefetch/rollback", request))
  }

  // MARK: - Policy

  /// - Parameter version: as for `prefetch`.
  package func policy(of channel: ChannelAddress, version: String? = nil) throws(OriginError)
    -> OriginAnswer<DocumentAnswer>
  {
    try get("\(channel.path)/policy\(Self.query(version))")
  }

  /// Carries out one act on the policy.
  package func changePolicy(_ request: PolicyRequest, of channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<DocumentChangeAnswer>
  {
    try send(OriginCall("POST", "\(channel.path)/policy", request))
  }

  // MARK: - Both, and the settings

  /// - Parameter document: `prefetch` or `policy`.
  package func versions(of document: String, in channel: ChannelAddress, limit: Int) throws(OriginError)
    -> OriginAnswer<DocumentVersions>
  {
    try get("\(channel.path)/\(document)/log?limit=\(limit)")
  }

  /// Changes settings of a channel.
  package func change(_ request: ChannelSettingsRequest, of channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<ChannelSettings>
  {
    try send(OriginCall("POST", "\(channel.path)/settings", request))
  }

  private static func query(_ version: String?) -> String {
    version.map { "?version=\(OriginCall.escaped($0))" } ?? ""
  }
}
