import Manifests
import Values

/// A static copy, as registered by its last run.
package struct MirrorRecord: Hashable, Sendable {
  /// The name that its run gave it.
  package let name: String
  /// When that run ended, in milliseconds since 1970.
  package let at: Int64
  /// The versions of each channel that it names, which gc keeps.
  package let versions: [ChannelVersion]
  /// The id of the token that registered it, or a word that isn't a token's id.
  package let owner: String?
  /// Whether gc keeps the versions that it names.
  package let isBinding: Bool
  /// Whether the caller may forget it.
  package let isForgettable: Bool
}

extension Store {
  /// The most mirrors that one token may register.
  package static let mirrorsPerToken = 100
  /// The days after its last run for which a mirror keeps versions, because nobody reports that a mirror is gone.
  package static let mirrorDays: Int64 = 90
  /// The days after the end of its token for which a mirror keeps versions; another token's run may continue with it until then.
  package static let orphanedMirrorDays: Int64 = 7

  /// Registers the versions that a mirror names since its run that ended now, instead of those it named before.
  /// Versions that aren't kept now are left out: nobody could have copied them, and a future version must not be kept
  /// because of its number. `record` keeps the answer for retries.
  /// - Throws: `unknownApp`, `unknownChannel`; `foreignMirror` if it belongs to another token; `tooManyMirrors`,
  ///   `tooManyActs`.
  package func register(
    mirror name: String, _ versions: [ChannelVersion], by requester: Holder = .local,
    record: AnswerRecord<Void>? = nil
  ) throws(StoreError) {
    let now = clock()
    try connections.transaction(keeping: record, now: now, isUrgent: false) { (db) throws(StoreError) in
      let held = try db.mirror(name)
      try db.check(held, name, by: requester, now: now)
      try db.run(
        """
        INSERT INTO mirror (name, at, owner) VALUES (?1, ?2, ?3)
        ON CONFLICT (name) DO UPDATE SET at = ?2, owner = ?3
        """, name, now, try db.owner(after: held, requester, now: now))
      let id = try db.mirror(name)?.id ?? 0
      let before = try db.versions(ofMirror: id)
      try db.deleteVersions(ofMirror: id)
      for item in versions {
        let channel = try db.required(item.app, item.channel)
        guard try db.isKept(item.version, in: channel.id) else { continue }
        try db.run(
          "INSERT OR IGNORE INTO mirror_version (mirror_id, channel_id, version) VALUES (?, ?, ?)", id,
          channel.id, item.version.number)
      }
      // A run that changes nothing, as most do, isn't an act.
      let after = try db.versions(ofMirror: id)
      if after != before { try db.forgetPushes(at: name, keeping: after) }
      guard requester.token != nil, held == nil || after != before else { return }
      try db.audit(
        repeated: AuditEvent(
          "mirror.register", parameters: ["name": .string(name), "versions": after.ranges]),
        by: requester, isLimited: true, now: now)
    }
  }

  /// Forgets a mirror, so that gc may remove the versions it named; its next run registers it again. If it is the place to
  /// which releases are pushed, what was pushed there is forgotten, too, which only an admin may do. `record` keeps the
  /// answer for retries.
  /// - Throws: `unknownMirror`; `foreignMirror` if it belongs to another token.
  package func forget(
    mirror name: String, by requester: Holder = .local, record: AnswerRecord<Void>? = nil
  ) throws(StoreError) {
    let now = clock()
    let isPushPlace = try pushPlace()?.name == name && requester.isAdmin
    // First, because this can be repeated.
    if isPushPlace { try derived.forgetPushes() }
    try connections.transaction(
      keeping: record, now: now, isUrgent: false,
      then: { _ in if isPushPlace { changes.changed() } }
    ) { (db) throws(StoreError) in
      if isPushPlace { try db.forgetPushes() }
      if let held = try db.mirror(name) {
        guard try db.isOpen(held, to: requester, now: now) else { throw .foreignMirror(name) }
        try db.deleteVersions(ofMirror: held.id)
        try db.run("DELETE FROM mirror WHERE id = ?", held.id)
      } else if !isPushPlace {
        throw .unknownMirror(name)
      }
      guard requester.token != nil else { return }
      try db.audit(
        repeated: AuditEvent("mirror.forget", parameters: ["name": .string(name)]), by: requester,
        isLimited: false, now: now)
    }
  }

  /// All registered mirrors, sorted by name.
  /// - Parameter requester: for whom to determine which of them may be forgotten.
  package func mirrors(for requester: Holder = .local) throws(StoreError) -> [MirrorRecord] {
    let now = clock()
    return try connections.reading { (db) throws(StoreError) in
      let binding = try db.bindingMirrors(now: now)
      let rows = try db.all("SELECT id, name, at, owner FROM mirror ORDER BY name") { row in
        (
          id: row.get(0, as: Int64.self), name: row.get(1, as: String.self), at: row.get(2, as: Int64.self),
          owner: row.get(3, as: String?.self)
        )
      }
      var mirrors: [MirrorRecord] = []
      for row in rows {
        mirrors.append(
          MirrorRecord(
            name: row.name, at: row.at, versions: try db.versions(ofMirror: row.id), owner: row.owner,
            isBinding: binding.contains(row.id),
            isForgettable: try db.isOpen((id: row.id, owner: row.owner), to: requester, now: now)))
      }
      return mirrors
    }
  }
}

extension [ChannelVersion] {
  /// The audit trail's summary of them: the newest version of each channel.
  fileprivate var ranges: JSONValue {
    var ranges: [(first: ChannelVersion, last: ManifestVersion)] = []
    for item in self {
      if let index = ranges.firstIndex(where: { $0.first.app == item.app && $0.first.channel == item.channel }
      ) {
        ranges[index].last = Swift.max(ranges[index].last, item.version)
      } else {
        ranges.append((item, item.version))
      }
    }
    return .array(
      ranges.prefix(100).map {
        [
          "app": .string($0.first.app.text), "channel": .string($0.first.channel.text),
          "newest": .string($0.last.text),
        ]
      })
  }
}

extension Database {
  /// The mirrors whose versions gc keeps: those that ran recently, and whose token hasn't ended long ago.
  func bindingMirrors(now: Int64) throws(StoreError) -> Set<Int64> {
    let day: Int64 = 86_400_000
    return Set(
      try all(
        """
        SELECT id FROM mirror AS m WHERE at > ?1 AND NOT EXISTS (
          SELECT 1 FROM token AS t WHERE t.id = m.owner
            AND max(m.at, min(coalesce(t.revoked_at, ?3), coalesce(t.expires_at, ?3))) <= ?2)
        """, now - Store.mirrorDays * day, now - Store.orphanedMirrorDays * day, Int64.max
      ) { $0.get(0, as: Int64.self) })
  }

  fileprivate func mirror(_ name: String) throws(StoreError) -> (id: Int64, owner: String?)? {
    try first("SELECT id, owner FROM mirror WHERE name = ?", name) {
      (id: $0.get(0, as: Int64.self), owner: $0.get(1, as: String?.self))
    }
  }

  /// Checks that a mirror may be registered. A mirror belongs to its token. One without an owner goes to a token that
  /// may read everything it names, so that a job continues with a new token, and after an upgrade.
  fileprivate func check(
    _ held: (id: Int64, owner: String?)?, _ name: String, by requester: Holder, now: Int64
  ) throws(StoreError) {
    guard requester.token != nil else { return }
    if let held {
      if requester.isAdmin || held.owner == requester.owner { return }
      guard try isOpen(held, to: requester, now: now) else { throw .foreignMirror(name) }
    }
    let count = try value(Int64.self, "SELECT count(*) FROM mirror WHERE owner = ?", requester.owner) ?? 0
    guard count < Store.mirrorsPerToken else { throw .tooManyMirrors(Store.mirrorsPerToken) }
  }

  fileprivate func isOpen(_ held: (id: Int64, owner: String?), to requester: Holder, now: Int64)
    throws(StoreError) -> Bool
  {
    guard let token = requester.token, !requester.isAdmin, held.owner != requester.owner else { return true }
    let mayRead = try versions(ofMirror: held.id).allSatisfy {
      token.allows(.read, app: $0.app, channel: $0.channel)
    }
    guard mayRead else { return false }
    return try !isInUse(owner: held.owner, now: now)
  }

  /// The owner after a registration: an admin or a local run doesn't take a mirror away from an active owner.
  fileprivate func owner(after held: (id: Int64, owner: String?)?, _ requester: Holder, now: Int64)
    throws(StoreError) -> String
  {
    guard let owner = held?.owner, try isInUse(owner: owner, now: now) else { return requester.owner }
    return owner
  }

  /// Forgets what was pushed to a mirror's place and is in none of the versions that the mirror names: its runs may remove
  /// such files.
  fileprivate func forgetPushes(at name: String, keeping versions: [ChannelVersion]) throws(StoreError) {
    guard let place = try pushPlace(), place.isOf(mirror: name) else { return }
    var oldest: [Int64: ManifestVersion] = [:]
    for item in versions {
      let id = try required(item.app, item.channel).id
      oldest[id] = min(oldest[id] ?? item.version, item.version)
    }
    for (channel, version) in oldest { try forgetPushes(of: channel, before: version) }
  }

  fileprivate func deleteVersions(ofMirror id: Int64) throws(StoreError) {
    try run("DELETE FROM mirror_version WHERE mirror_id = ?", id)
  }

  func versions(ofMirror id: Int64) throws(StoreError) -> [ChannelVersion] {
    try all(
      """
      SELECT a.name, c.name, m.version FROM mirror_version AS m
      JOIN channel AS c ON c.id = m.channel_id JOIN app AS a ON a.id = c.app_id
      WHERE m.mirror_id = ? ORDER BY a.id, c.id, m.version
      """, id
    ) { (row) throws(StoreError) in
      ChannelVersion(
        app: try Stored.app(row.get(0)), channel: try Stored.channel(row.get(1)),
        version: row.version(2))
    }
  }
}
