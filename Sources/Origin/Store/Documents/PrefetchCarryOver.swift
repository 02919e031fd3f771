import Manifests
import Trust
import Values

/// A prefetch config that is carried over by a rollback or a promotion.
package struct PrefetchCarryOver: Hashable, Sendable {
  /// Canonical JSON: the config array; nil if the source has none, and the live config stays.
  package let content: [UInt8]?
  /// Its version at the source; 0 if there was none.
  package let source: Int64
  /// The channel that it is promoted from; nil for a rollback.
  package let from: ChannelName?

  /// Creates a carry-over of a config.
  package init(content: [UInt8]?, source: Int64, from: ChannelName?) {
    self.content = content
    self.source = source
    self.from = from
  }
}

/// Who carries over a prefetch config, and why.
struct PrefetchReconciler {
  let actor: Actor
  let message: String
  let breakGlass: String?
  /// The hosts that the token is limited to; nil: all.
  let hosts: HostList?
  /// Refuse a change for all devices while a rollout is open.
  let ifNoRollout: Bool
  /// A statement for the config, in an app with a root, beside those that are stored.
  let statement: Signed<PrefetchStatement>?

  init(_ request: ReleaseInput) {
    actor = Actor(name: request.author, address: request.address)
    message = request.message
    breakGlass = request.breakGlass
    hosts = request.hosts
    ifNoRollout = request.ifNoRollout
    statement = request.prefetchStatement
  }

  init(_ request: RollbackInput) {
    actor = request.actor
    message = request.message
    breakGlass = request.breakGlass
    hosts = request.hosts
    ifNoRollout = request.ifNoRollout
    statement = request.prefetchStatement
  }
}

extension Database {
  /// The document that devices had at a time, or, without one, last had while `version` was the newest; nil if none.
  /// - Throws: `unknownDocument` if the versions of that time aren't kept.
  func live(
    _ name: ChannelDocument, of channel: Int64, while version: ManifestVersion = .none,
    at moment: Int64? = nil
  ) throws(StoreError) -> DocumentRecord? {
    let live = try first(
      """
      SELECT d.version, CASE WHEN ?3 IS NULL THEN e.manifest_version <= ?2 ELSE e.at <= ?3 END
      FROM document AS d LEFT JOIN document_end AS e USING (channel_id, name, version)
      WHERE d.channel_id = ?1 AND d.name = ?4
        AND CASE WHEN ?3 IS NULL THEN d.manifest_version <= ?2 ELSE d.at <= ?3 END
      ORDER BY d.version DESC LIMIT 1
      """, channel, version.number, moment, name.rawValue
    ) { (version: $0.get(0, as: Int64.self), hasEnded: $0.get(1, as: Int64?.self) == 1) }
    if let live {
      guard !live.hasEnded else {
        throw .unknownDocument(
          name, oldestKept: try oldestVersion(of: name, in: channel, after: live.version))
      }
      return try document(name, of: channel, at: live.version)
    }
    // An origin that was restored from a mirror knows only the newest version. If the document's first version follows
    // a restore's gap, there was none before it.
    let oldest =
      try value(
        Int64?.self, "SELECT min(version) FROM document WHERE channel_id = ? AND name = ?", channel,
        name.rawValue) ?? nil
    let least = try leastNext(name, of: channel)
    if let oldest, oldest > 1 {
      let others = oldest < least ? 0 : try candidates(of: name, in: channel, least..<oldest)
      if oldest >= least, oldest - least <= others { return nil }
      throw .unknownDocument(name, oldestKept: oldest)
    }
    return nil
  }

  /// How many of these versions went along with candidates only, and never were the channel's.
  private func candidates(of name: ChannelDocument, in channel: Int64, _ versions: Range<Int64>)
    throws(StoreError) -> Int64
  {
    guard name == .prefetch else { return 0 }
    return try value(
      Int64.self,
      "SELECT count(*) FROM candidate_prefetch WHERE channel_id = ? AND version >= ? AND version < ?",
      channel, versions.lowerBound, versions.upperBound) ?? 0
  }

  /// The prefetch config that a rollback brings back.
  func prefetchCarryOver(
    rollingBack channel: ChannelInfo, to target: ManifestVersion, _ name: RollbackInput.Target
  )
    throws(StoreError) -> PrefetchCarryOver
  {
    var moment: Int64?
    if case .version(.moment(let at)) = name { moment = at }
    // What goes along with an open candidate is its.
    if moment == nil, channel.rollout?.candidate == target, let its = try candidatePrefetch(of: channel.id) {
      return PrefetchCarryOver(content: its.content, source: its.version, from: nil)
    }
    let live = try self.live(.prefetch, of: channel.id, while: target, at: moment)
    return PrefetchCarryOver(
      content: live?.content ?? ChannelExtras.noPrefetch, source: live?.version ?? 0, from: nil)
  }

  /// What carrying over a prefetch config to a channel would do.
  /// - Parameters:
  ///   - audience: whom the release is for; nil: all devices. Otherwise the config goes along with its candidate.
  ///   - opens: whether the release would open that rollout.
  ///   - completes: whether it would complete the open one, before the config is carried over.
  /// - Throws: `foreignHosts`, `noCandidate`, `otherAudience`.
  func forecast(
    _ carryOver: PrefetchCarryOver, in channel: ChannelInfo?, by follower: PrefetchReconciler,
    to audience: RolloutAudience?, opens: Bool = false, completes: Bool = false
  ) throws(StoreError) -> PrefetchOutcome {
    var held: DocumentRecord?
    if let channel {
      held = try newest(.prefetch, of: channel.id)
      if audience != nil && !opens || completes { held = try candidatePrefetch(of: channel.id) ?? held }
    }
    // A channel that never had a config doesn't decide what another one should have; to clear that one's, push an empty config.
    guard let content = carryOver.content else {
      return PrefetchOutcome(
        changed: false, version: ManifestVersion(held?.version ?? 0), source: .none, isKept: true)
    }
    try HostBounds(channel, token: follower.actor.name, follower.hosts).check(prefetch: content)
    let isChange = held.map { $0.content != content } ?? (content != ChannelExtras.noPrefetch)
    var version = held?.version ?? 0
    if isChange, audience == nil, follower.ifNoRollout, let channel, let open = channel.rollout {
      throw .rolloutOpen(channel.app, channel.name, open.candidate)
    }
    if isChange, let audience, let channel, !opens {
      guard let open = channel.rollout else { throw .noCandidate(channel.app, channel.name) }
      // What a new rollout is to do by itself is kept elsewhere.
      var wanted = audience
      wanted.course = nil
      if open.audience != wanted { throw .otherAudience(open) }
    }
    if isChange {
      version =
        try channel.map { (channel) throws(StoreError) in
          try nextVersion(of: .prefetch, in: channel.id)
        } ?? 1
    }
    return PrefetchOutcome(
      changed: isChange, version: ManifestVersion(version), source: ManifestVersion(carryOver.source))
  }

  /// Carries over a prefetch config to a channel, in the transaction of its release; `version` is the channel's newest after that.
  /// - Throws: `frozen`, `foreignHosts`, `noCandidate`, `otherAudience`.
  func follow(
    _ carryOver: PrefetchCarryOver, in channel: ChannelInfo, at version: ManifestVersion,
    by follower: PrefetchReconciler, to audience: RolloutAudience?, now: Int64
  ) throws(StoreError) -> PrefetchOutcome {
    let outcome = try forecast(carryOver, in: channel, by: follower, to: audience)
    guard outcome.changed, let content = carryOver.content else { return outcome }
    if follower.breakGlass == nil, let freeze = try freeze(of: channel.id, at: now) {
      throw .frozen(channel.app, channel.name, freeze)
    }
    var request = DocumentRequest(
      app: channel.app, channel: channel.name, document: .prefetch,
      kind: carryOver.from == nil ? .rollback : .push,
      author: follower.actor.name, message: carryOver.message(follower.message),
      source: carryOver.from == nil ? carryOver.source : nil)
    request.address = follower.actor.address
    try sign(
      prefetch: content, in: channel, with: follower.statement,
      isCandidate: audience != nil && channel.rollout != nil, by: follower.actor.name, now: now)
    let held = try newest(.prefetch, of: channel.id)
    if audience != nil, let open = channel.rollout {
      request.breakGlass = follower.breakGlass
      _ = try makeCandidate(
        request, content, after: try candidatePrefetch(of: channel.id) ?? held, held, in: channel,
        seed: open.seed, now: now)
      return outcome
    }
    _ = try make(
      request, content, after: held, in: channel, at: version, now: now,
      more: [
        .init(key: "breakGlass", value: follower.breakGlass.map { .string($0) } ?? .null),
        .init(key: "from", value: carryOver.from.map { .string($0.text) } ?? .null),
        .init(key: "fromVersion", value: .string(String(carryOver.source))),
      ])
    return outcome
  }
}

extension Store {
  /// The prefetch config that a channel's devices last had while `version` was the newest, or, if `name` is a time, at
  /// that time; nil if none.
  /// - Throws: `unknownDocument` if the versions of that time aren't kept.
  package func prefetch(of channel: ChannelInfo, while version: ManifestVersion, as name: VersionName?)
    throws(StoreError) -> DocumentRecord?
  {
    var moment: Int64?
    if case .moment(let at) = name { moment = at }
    return try connections.reading { [moment] (db) throws(StoreError) in
      // What goes along with an open candidate is its.
      if moment == nil, channel.rollout?.candidate == version,
        let config = try db.candidatePrefetch(of: channel.id)
      {
        return config
      }
      return try db.live(.prefetch, of: channel.id, while: version, at: moment)
    }
  }
}

extension PrefetchCarryOver {
  /// The log has no column for the channel that a config was promoted from.
  fileprivate func message(_ given: String) -> String {
    guard let from, given.isEmpty else { return given }
    return "promoted from \(from), version \(source)"
  }
}
