import Manifests
import System
import Values

/// A request to move a channel to another public URL.
package struct RebaseInput: Sendable {
  package var app: AppName
  package var channel: ChannelName
  /// Where devices download from afterwards.
  package var publicURL: BaseURL
  package var actor: Actor
  package var message = ""
  /// The reason for releasing although the channel is frozen.
  package var breakGlass: String?
  package var dryRun = false

  package init(app: AppName, channel: ChannelName, publicURL: BaseURL, by actor: Actor) {
    self.app = app
    self.channel = channel
    self.publicURL = publicURL
    self.actor = actor
  }
}

extension Store {
  /// Every public URL that a channel has had. What they named goes on being answered.
  package func publicURLs() throws(StoreError) -> [BaseURL] {
    try connections.reading { (db) throws(StoreError) in
      try db.all("SELECT text FROM public_url ORDER BY id") { (row) throws(StoreError) in
        try Stored.base(row.get(0))
      }
    }
  }

  /// Moves a channel to another public URL: a release of kind `rebase`, in which every entry has its download URL there. Nothing
  /// else about the entries changes, so devices that hold the files fetch none.
  ///
  /// The parameters are those of `commit`; `committed` is also called for a channel without a release, which just gets the URL.
  /// - Throws: `unknownApp`, `unknownChannel`, `frozen`, with nothing changed.
  package func rebase(
    _ request: RebaseInput, digest: ((PreparedRelease) throws(StoreError) -> SHA256)? = nil,
    committed: (ReleaseOutcome) -> Void = { _ in }, record: AnswerRecord<ReleaseOutcome>? = nil
  ) throws(StoreError) -> ReleaseOutcome {
    if request.dryRun {
      return try connections.reading { (db) throws(StoreError) in
        let plan = try RebasePlan(request, in: db)
        if plan.isChange { try plan.requireNoRollout() }
        var outcome = plan.outcome(plan.channel, digest: nil, now: clock())
        if request.breakGlass == nil { outcome.freeze = try db.freeze(of: plan.channel.id, at: clock()) }
        return outcome
      }
    }
    return try connections.transaction(keeping: record, now: clock(), then: committed) {
      (db) throws(StoreError) in
      let plan = try RebasePlan(request, in: db)
      guard plan.isChange else { return plan.outcome(plan.channel, digest: nil, now: clock()) }
      let freeze = try db.freeze(of: plan.channel.id, at: clock())
      if let freeze, request.breakGlass == nil { throw .frozen(request.app, request.channel, freeze) }
      let channel = plan.channel.moved(to: request.publicURL, id: try db.publicURLID(request.publicURL.text))
      try db.run("UPDATE channel SET public_url_id = ? WHERE id = ?", channel.publicURLID, channel.id)
      var outcome = plan.outcome(channel, digest: nil, now: clock())
      if plan.makesRelease {
        try plan.requireNoRollout()
        let at = outcome.at
        let prepared = PreparedRelease(
          channel: channel, version: outcome.version, at: at, changes: plan.changes)
        let digest = if let digest { try digest(prepared) } else { try db.digest(of: prepared) }
        outcome = plan.outcome(channel, digest: digest, now: at)
        try db.write(plan, outcome, of: request, digest: digest)
        try db.recordOverride(request.breakGlass, freeze, outcome.version, in: channel.id)
        outcome.trust = try db.sign(
          channel, at: outcome.version, after: channel.version, by: request.actor.name, now: clock())
      }
      outcome.receipt = try db.audit(plan.act(request, outcome), by: request.actor, now: clock())
      outcome.headProblem = try renewHead(after: outcome.channel, in: db)
      return outcome
    }
  }
}

/// What a rebase changes.
private struct RebasePlan {
  let channel: ChannelInfo
  /// Whether the channel isn't at the URL already.
  let isChange: Bool
  let changes: [EntryChange]
  /// The bundles that have changed entries, and how many.
  let bundles: [(info: BundleInfo, entries: Int)]

  /// A channel that was never released to has nothing to move.
  var makesRelease: Bool { isChange && channel.version != .none }

  init(_ request: RebaseInput, in db: Database) throws(StoreError) {
    channel = try db.required(request.app, request.channel)
    isChange = channel.publicURL != request.publicURL
    guard isChange, channel.version != .none else {
      self.changes = []
      bundles = []
      return
    }
    var changes: [EntryChange] = []
    let moved = channel.moved(to: request.publicURL, id: 0)
    try db.eachEntry(of: channel, at: channel.version) { (url, row) throws(StoreError) in
      guard row.publicURL != request.publicURL.text else { return }
      changes.append(
        EntryChange(
          url: url,
          entry: moved.entry(
            url, row.content, row.version, broughtIn: row.broughtIn, moved.publicURL, bundle: row.bundle),
          old: row.content))
    }
    self.changes = changes
    var counts: [Int64: Int] = [:]
    try db.each(
      """
      SELECT e.bundle_id, count(*) FROM bundle AS n
      JOIN entry AS e ON e.bundle_id = n.id AND e.until IS NULL
      JOIN resource AS r ON r.id = e.resource_id
      JOIN public_url AS p ON p.id = r.public_url_id
      WHERE n.channel_id = ? AND p.text <> ? GROUP BY e.bundle_id
      """, channel.id, request.publicURL.text
    ) { counts[$0.get(0)] = $0.get(1, as: Int.self) }
    bundles = try db.bundles(of: channel.id).compactMap { info in counts[info.id].map { (info, $0) } }
  }

  /// - Throws: `rolloutOpen`: it would change every entry, of both versions.
  func requireNoRollout() throws(StoreError) {
    guard makesRelease, let rollout = channel.rollout else { return }
    throw .rolloutOpen(channel.app, channel.name, rollout.candidate)
  }

  func outcome(_ channel: ChannelInfo, digest: SHA256?, now: Int64) -> ReleaseOutcome {
    let version = makesRelease ? self.channel.nextVersion : self.channel.version
    let at = makesRelease ? max(now, self.channel.at ?? 0) : self.channel.at ?? 0
    let counts = ChangeCounts(changed: changes.count)
    return ReleaseOutcome(
      changed: makesRelease,
      channel: digest.map {
        channel.after(version, at: at, digest: $0, resources: channel.resources, bytes: channel.bytes)
      } ?? channel, version: version, previous: self.channel.version, at: at, changes: changes,
      counts: counts,
      bundles: bundles.map {
        .init(name: $0.info.name, counts: ChangeCounts(changed: $0.entries), replaced: nil)
      },
      newBytes: 0, resources: channel.resources, bytes: channel.bytes, createdApp: false,
      createdChannel: false,
      missing: [])
  }

  func act(_ request: RebaseInput, _ outcome: ReleaseOutcome) -> AuditEvent {
    AuditEvent(
      "rebase", app: channel.app, channel: channel.name,
      parameters: [
        "breakGlass": request.breakGlass.map { .string($0) } ?? .null, "message": .string(request.message),
        "publicURL": .string(request.publicURL.text),
      ],
      result: [
        "changed": .integer(outcome.counts.changed),
        "changes": [
          "publicURL": .change(from: .string(channel.publicURL.text), to: .string(request.publicURL.text))
        ],
        "digest": outcome.channel?.digest.map { .string($0.hex) } ?? .null,
        "version": .string(outcome.version.text),
      ])
  }
}

extension Database {
  /// Writes the release: each entry ends, and begins anew with a resource that has the same number, bytes and type.
  fileprivate func write(
    _ plan: RebasePlan, _ outcome: ReleaseOutcome, of request: RebaseInput, digest: SHA256
  ) throws(StoreError) {
    guard let channel = outcome.channel else { return }
    let version = outcome.version
    try ReleaseRow(
      channel: channel.id, version: version, kind: .rebase, at: outcome.at, author: request.actor.name,
      message: request.message, digest: digest, counts: outcome.counts, newBytes: 0,
      resources: channel.resources,
      bytes: channel.bytes
    ).insert(in: self)
    // The content is that of the version before: steps back count it once.
    let source = ReleaseSource(channel: channel, version: outcome.previous, bundle: nil)
    try note(source, of: version, in: channel.id)
    try run(
      """
      INSERT INTO resource (url_id, version, blob_id, content_type_id, public_url_id, brought_in)
      SELECT DISTINCT r.url_id, r.version, r.blob_id, r.content_type_id, ?2, r.brought_in
      FROM bundle AS n
      JOIN entry AS e ON e.bundle_id = n.id AND e.until IS NULL
      JOIN resource AS r ON r.id = e.resource_id AND r.public_url_id <> ?2
      WHERE n.channel_id = ?1
      ON CONFLICT DO NOTHING
      """, channel.id, channel.publicURLID)
    try run(
      """
      UPDATE entry SET until = ?3
      WHERE until IS NULL AND bundle_id IN (SELECT id FROM bundle WHERE channel_id = ?1)
        AND resource_id IN (SELECT id FROM resource WHERE id = entry.resource_id AND public_url_id <> ?2)
      """, channel.id, channel.publicURLID, version.number)
    try run(
      """
      INSERT INTO entry (url_id, bundle_id, since, resource_id)
      SELECT e.url_id, e.bundle_id, ?3, new.id
      FROM entry AS e
      JOIN resource AS old ON old.id = e.resource_id
      JOIN resource AS new ON new.url_id = old.url_id AND new.version = old.version AND new.public_url_id = ?2
      WHERE e.until = ?3 AND e.bundle_id IN (SELECT id FROM bundle WHERE channel_id = ?1)
      """, channel.id, channel.publicURLID, version.number)
    for bundle in plan.bundles {
      try ReleaseBundleRow(
        bundle: bundle.info.id, version: version, channel: channel.id,
        counts: ChangeCounts(changed: bundle.entries), resources: bundle.info.resources,
        bytes: bundle.info.bytes
      ).insert(in: self)
    }
  }
}
