import Manifests
import System
import Values

/// Bytes that a URL has had in a channel, for whoever has to say which are meant.
package struct URLContent: Hashable, Sendable, CustomStringConvertible {
  package let sha256: SHA256
  /// The size in bytes.
  package let size: Int64
  let app: String
  let channel: String
  /// The first and the last version that had them; there may be others in between.
  let first: ManifestVersion
  let last: ManifestVersion
  let isLive: Bool

  package var description: String {
    let versions = first == last ? "version \(first)" : "versions \(first)–\(last)"
    return "\(sha256)  \(size) bytes, app \(app), channel \(channel), \(versions)\(isLive ? ", live" : "")"
  }
}

/// Where the bytes of a purge are.
package struct PurgePlan: Sendable {
  package let sha256: SHA256
  /// The size in bytes; nil if no release ever had them.
  package let size: Int64?
  package let uses: [Use]
  /// What earlier purges of these bytes removed: the URLs of files with them, or with what was made of them.
  package let earlier: [String]

  /// How many zips of a channel are named one by one. Their number grows with the square of the versions that have the bytes, and
  /// with the public URLs that the channel has had.
  static let zipLimit = 10_000

  /// All URLs under which a CDN or a cache may have the bytes, or what was made of them.
  package var downloads: [String] {
    var known: Set<String> = []
    return (uses.flatMap { $0.downloads + $0.zips } + earlier).filter { known.insert($0).inserted }
  }

  /// A channel with a kept version that has the bytes.
  package struct Use: Sendable {
    package let channel: ChannelInfo
    /// Every URL that the bytes have had.
    package let urls: [ResourceURL]
    /// The URLs that devices get them under now, by bundle: beside an open rollout, those who have its candidate.
    package let live: [(bundle: BundleInfo, urls: Set<ResourceURL>)]
    /// The same in the full version, on which releases are made; without a rollout, the same as `live`.
    package let full: [(bundle: BundleInfo, urls: Set<ResourceURL>)]
    /// The bundles of an open rollout's candidate.
    let candidateBundles: Set<BundleName>

    /// Whether some device gets them now.
    package var isLive: Bool { !live.isEmpty || !full.isEmpty }
    /// Whether only who has a candidate gets them from its bundles: it has to be halted, as no release is without them.
    package var isInCandidateOnly: Bool { holdsOwn(live) && !holdsOwn(full) }
    /// The candidate that doesn't outlive the release without them; nil: none, or it is made again on top of it.
    package var endedCandidate: ManifestVersion? {
      holdsOwn(live) || holdsOwn(full) ? channel.rollout?.candidate : nil
    }

    private func holdsOwn(_ held: [(bundle: BundleInfo, urls: Set<ResourceURL>)]) -> Bool {
      held.contains { candidateBundles.contains($0.bundle.name) }
    }
    /// The kept versions that have them, and can't be kept without them.
    package let versions: [ManifestVersion]
    /// Those of them that are pinned.
    package let pinned: [ManifestVersion]
    /// The URLs of files with the bytes, or with what was made of them, below each public URL that the channel has had.
    package let downloads: [String]
    /// The URLs of zips, which are made on request: nobody knows which of them a CDN has. Beyond `zipLimit`, patterns that end with
    /// `*`.
    package let zips: [String]
  }
}

extension Store {
  /// What was purged, oldest first.
  package func purges() throws(StoreError) -> [Purge] {
    try connections.reading { (db) throws(StoreError) in
      try db.all("SELECT sha256, at, author, reason FROM purge ORDER BY at, sha256") {
        Purge(sha256: $0.get(0), at: $0.get(1), author: $0.get(2), reason: $0.get(3))
      }
    }
  }

  /// The digest of what is meant: a digest, the URL of a resource in any channel, or a download URL.
  /// - Throws: `unknownContent`; `severalContents` if the URL has had others in kept versions.
  package func content(named name: String) throws(StoreError) -> SHA256 {
    if let sha256 = SHA256(hex: name.lowercased()) { return sha256 }
    if let place = DownloadPlace(name), let resource = try resource(at: place.path) {
      return resource.content.sha256
    }
    let contents = try contents(under: name)
    guard let first = contents.first else {
      guard let purged = try purged(under: name) else { throw .unknownContent(name) }
      return purged
    }
    guard contents.allSatisfy({ $0.sha256 == first.sha256 }) else { throw .severalContents(name, contents) }
    return first.sha256
  }

  /// What a URL has had in each channel's kept versions; what is live and newest first.
  private func contents(under url: String) throws(StoreError) -> [URLContent] {
    try connections.reading { (db) throws(StoreError) in
      try db.all(
        """
        SELECT b.sha256, b.size, a.name, c.name, min(e.since),
          max(coalesce(e.until - 1, (SELECT max(version) FROM release WHERE channel_id = c.id))), max(e.until IS NULL)
        FROM url AS u
        JOIN channel AS c ON c.id = u.channel_id
        JOIN app AS a ON a.id = c.app_id
        JOIN entry AS e ON e.url_id = u.id
        JOIN resource AS r ON r.id = e.resource_id
        JOIN blob AS b ON b.id = r.blob_id
        WHERE u.text = ? GROUP BY b.sha256, c.id ORDER BY 7 DESC, a.name, c.name, 6 DESC
        """, url
      ) { (row) throws(StoreError) in
        URLContent(
          sha256: row.get(0), size: row.get(1), app: row.get(2), channel: row.get(3), first: row.version(4),
          last: row.version(5), isLive: row.get(6, as: Int64.self) == 1)
      }
    }
  }

  /// The bytes that a purge removed from under a URL.
  private func purged(under url: String) throws(StoreError) -> SHA256? {
    try connections.reading { (db) throws(StoreError) in
      try db.first(
        "SELECT u.sha256 FROM purged_url AS u JOIN purge AS p ON p.sha256 = u.sha256 WHERE u.text = ? ORDER BY p.at DESC LIMIT 1",
        url
      ) { $0.get(0, as: SHA256.self) }
    }
  }

  /// What every purge removed, as `PurgePlan.earlier`.
  package func purgedDownloads() throws(StoreError) -> [SHA256: [String]] {
    try connections.reading { (db) throws(StoreError) in
      var urls: [SHA256: [String]] = [:]
      try db.each("SELECT sha256, text FROM purged_url WHERE is_download = 1 ORDER BY sha256, text") {
        urls[$0.get(0), default: []].append($0.get(1))
      }
      return urls
    }
  }

  /// Finds where bytes are.
  package func purgePlan(_ sha256: SHA256) throws(StoreError) -> PurgePlan {
    let packs = Dictionary(grouping: try derived.packs(), by: \.channel).mapValues { $0.map(\.pack) }
    let deltas = try derived.deltas(with: sha256)
    return try connections.reading { (db) throws(StoreError) in
      var uses: [PurgePlan.Use] = []
      for channel in try db.channels() + db.channels(removed: true) {
        if let use = try db.use(of: sha256, in: channel, packs: packs, deltas: deltas) { uses.append(use) }
      }
      return PurgePlan(
        sha256: sha256, size: try BlobRow.find(sha256, in: db)?.digest.size, uses: uses,
        earlier: try db.all(
          "SELECT text FROM purged_url WHERE sha256 = ? AND is_download = 1 ORDER BY text", sha256
        ) { $0.get(0) })
    }
  }

  /// Refuses bytes from everybody from now on, before the releases without them are made. Asked again, it changes nothing.
  package func forbid(_ sha256: SHA256, reason: String, by actor: Actor) throws(StoreError) {
    let now = clock()
    let purge = Purge(
      sha256: sha256, at: Moment(milliseconds: now), author: actor.name, reason: reason)
    let isNew = try connections.transaction { (db) throws(StoreError) in
      try db.forbid(sha256, reason: reason, by: actor, now: now)
    }
    if isNew { blobs.forbid([purge]) }
  }

  /// Allows purged bytes to be published again; they aren't back by that.
  /// - Throws: `notPurged`.
  package func liftPurge(_ sha256: SHA256, by actor: Actor, record: AnswerRecord<Purge>? = nil)
    throws(StoreError)
    -> Purge
  {
    let purge = try connections.transaction(keeping: record, now: clock()) {
      (db) throws(StoreError) -> Purge in
      let lifted = try db.first(
        "DELETE FROM purge WHERE sha256 = ? RETURNING sha256, at, author, reason", sha256
      ) { Purge(sha256: $0.get(0), at: $0.get(1), author: $0.get(2), reason: $0.get(3)) }
      guard let lifted else { throw .notPurged(sha256) }
      try db.audit(
        AuditEvent(
          "purge.lift", parameters: ["sha256": .string(sha256.hex)],
          result: [
            "changes": ["refused": .change(from: true, to: false)], "reason": .string(lifted.reason),
            "was": .string(lifted.author),
          ]), by: actor, now: clock())
      return lifted
    }
    blobs.allow(sha256)
    return purge
  }

  /// Removes bytes that are forbidden and no longer live, with every version that has them and every file that was made of
  /// them. Whoever reads under a lease has to start over.
  ///
  /// The rows go first, and name the purge as unfinished; then the files; then, by `endPurge`, that note. So a purge that was cut
  /// off anywhere is known at the next start.
  /// - Returns: the row of the audit trail.
  /// - Throws: `stillLive`, with nothing changed.
  package func erase(_ plan: PurgePlan, reason: String, by actor: Actor) throws(StoreError) -> AuditHead {
    let now = clock()
    let receipt = try collecting.withLock { (_) throws(StoreError) -> AuditHead in
      try connections.transaction { (db) throws(StoreError) -> AuditHead in
        // Mirrors and backups that are reading it start over: their lease has ended.
        try db.deleteLeases()
        try db.erase(plan)
        return try db.audit(plan.act(reason), by: actor, now: now)
      }
    }
    // Open files first: from here on, nothing is found under its URLs.
    changes.changed()
    lastPlan.drop()
    try removeFiles(of: [plan.sha256])
    return receipt
  }

  /// Removes every file that has purged bytes, or that was made of them.
  ///
  /// In a turn of the writer: nobody can lift the purge and publish the bytes again between the look and the removal.
  package func removeFiles(of purged: [SHA256]) throws(StoreError) {
    if purged.isEmpty { return }
    try connections.transaction { (db) throws(StoreError) in
      for sha256 in purged {
        guard try db.isPurged(sha256), try BlobRow.find(sha256, in: db) == nil else { continue }
        try blobs.erase(sha256)
      }
    }
    _ = try removeUnneededDerived()
    changes.changed()
  }

  /// Stores a delta, unless it leads from or to purged bytes: a purge that came while it was made had looked before its file was there.
  /// - Returns: false if it isn't stored.
  package func keep(_ delta: [UInt8], of target: SHA256, on base: SHA256) throws(StoreError) -> Bool {
    try derived.keep(delta, of: target, on: base)
    guard blobs.isPurged(target) || blobs.isPurged(base) else { return true }
    let path = derived.deltaFile(target, on: base)
    try derived.forgetFiles([path])
    try StoreError.disk { () throws(SystemError) in try derived.removeFile(path) }
    return false
  }

  /// The purges whose files may not all be removed yet: an earlier process ended, or a disk or a store of pushed files failed.
  package func unfinishedPurges() throws(StoreError) -> [SHA256] {
    try connections.reading { (db) throws(StoreError) in
      try db.all("SELECT sha256 FROM purge_work ORDER BY sha256") { $0.get(0, as: SHA256.self) }
    }
  }

  /// Notes that purges are unfinished, since files with their bytes may have come to where files are pushed; not of those that were
  /// lifted.
  package func reopen(_ purged: [SHA256]) throws(StoreError) {
    if purged.isEmpty { return }
    try connections.transaction { (db) throws(StoreError) in
      for sha256 in purged {
        try db.run(
          "INSERT INTO purge_work (sha256) SELECT sha256 FROM purge WHERE sha256 = ? ON CONFLICT DO NOTHING",
          sha256)
      }
    }
  }

  /// Whether bytes are refused.
  package func isPurged(_ sha256: SHA256) throws(StoreError) -> Bool {
    try connections.reading { (db) throws(StoreError) in try db.isPurged(sha256) }
  }

  /// Notes files that were pushed and have purged bytes, by their paths: under the public URLs of the channels with the path's space,
  /// or of all where there is none, since the channel's first release may have been refused.
  package func note(pushed paths: [String], with sha256: SHA256) throws(StoreError) {
    if paths.isEmpty { return }
    try connections.transaction { (db) throws(StoreError) in
      guard try db.isPurged(sha256) else { throw .notPurged(sha256) }
      let all = try db.all("SELECT sha256 FROM purge") { $0.get(0, as: SHA256.self) }
      var bases: [String: Set<String>] = [:]
      for channel in try db.channels() + db.channels(removed: true) {
        bases[channel.name.space, default: []].formUnion(try db.publicURLs(of: channel).map(\.text))
      }
      let anyBase = bases.values.reduce(into: Set<String>()) { $0.formUnion($1) }
      for path in paths {
        // As in a URL, where a name's percent signs are escaped once more.
        let inURL = path.replacing("%", with: "%25")
        let urls = (bases[String(path.prefix { $0 != "/" })] ?? anyBase).map { "\($0)/\(inURL)" }
        // A pack may have the bytes of any purge.
        for purged in PackPath(text: path) == nil ? [sha256] : all {
          try db.note(urls, with: purged, areDownloads: true)
        }
      }
    }
  }

  /// Notes that nothing is left of purged bytes.
  package func endPurge(_ sha256: SHA256) throws(StoreError) { try endPurge(sha256, (), record: nil) }

  /// The same for whoever waits for it.
  /// - Parameters:
  ///   - outcome: what the answer is made from; it is returned.
  ///   - record: keeps the answer for retries.
  package func endPurge<Outcome: Sendable>(
    _ sha256: SHA256, _ outcome: Outcome, record: AnswerRecord<Outcome>?
  )
    throws(StoreError) -> Outcome
  {
    try connections.transaction(keeping: record, now: clock()) { (db) throws(StoreError) -> Outcome in
      try db.run("DELETE FROM purge_work WHERE sha256 = ?", sha256)
      return outcome
    }
  }
}

extension PurgePlan {
  fileprivate func act(_ reason: String) -> AuditEvent {
    let parameters: JSONValue = ["reason": .string(reason), "sha256": .string(sha256.hex)]
    if uses.isEmpty { return AuditEvent("purge", parameters: parameters, result: [:]) }
    return AuditEvent(
      "purge", parameters: parameters,
      result: [
        "changes": [
          "urls": .removed(uses.flatMap(\.urls).map(\.text)),
          "versions": .removed(
            uses.filter { !$0.versions.isEmpty }.map {
              "\($0.channel.app) \($0.channel.name) \($0.versions.ranges)"
            }),
        ],
        "channels": .array(
          uses.map { use in
            [
              "app": .string(use.channel.app.text), "channel": .string(use.channel.name.text),
              "pinned": .strings(use.pinned.map(\.text)), "urls": .strings(use.urls.map(\.text)),
              "versions": .strings(use.versions.map(\.text)),
            ]
          }),
      ])
  }
}

extension BlobStore {
  /// Refuses bytes from now on.
  func forbid(_ purges: [Purge]) {
    state.withLock { state in for purge in purges { state.purged[purge.sha256] = purge } }
  }

  func allow(_ sha256: SHA256) { state.withLock { $0.purged[sha256] = nil } }

  func isPurged(_ sha256: SHA256) -> Bool { state.withLock { $0.purged[sha256] != nil } }

  /// - Throws: `purged`.
  func refusePurged(_ digests: some Sequence<SHA256>) throws(StoreError) {
    let purged = state.withLock { state in
      state.purged.isEmpty ? [] : digests.compactMap { state.purged[$0] }
    }
    if !purged.isEmpty { throw .purged(purged) }
  }

  /// Removes every file that has bytes, wherever they wait. No row names them any more.
  func erase(_ sha256: SHA256) throws(StoreError) {
    checks.withLock { $0[sha256] = nil }
    state.withLock { state in
      state.forgetWhole(sha256)
      (state.persisted[sha256], state.reserved[sha256], state.verified[sha256]) = (nil, nil, nil)
    }
    try StoreError.disk { () throws(SystemError) in
      var paths = [folder.blob(sha256), folder.whole(sha256)]
      for name in try Folder.textNames(folder.quarantine) where name.hasPrefix(sha256.hex) {
        paths.append("\(folder.quarantine)/\(name)")
      }
      for path in paths where try Kernel.status(path, followLinks: false)?.kind == .file {
        try Kernel.remove(path)
      }
    }
  }
}
