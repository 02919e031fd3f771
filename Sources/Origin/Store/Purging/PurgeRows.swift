import Manifests
import System
import Values

// What a purge reads and deletes.
extension Database {
  /// What a channel has of some bytes; nil if nothing.
  func use(
    of sha256: SHA256, in channel: ChannelInfo, packs: [Int64: [StoredPack]],
    deltas: [(target: SHA256, base: SHA256)]
  ) throws(StoreError) -> PurgePlan.Use? {
    var (urls, downloads, zipURLs): (Set<ResourceURL>, [String], [String]) = ([], [], [])
    try each(
      """
      SELECT u.text, b.md5, b.sha256, b.size, t.text, t.headers, t.fallback, t.lazy, r.version, r.brought_in, p.text
      FROM blob AS b
      JOIN resource AS r ON r.blob_id = b.id
      JOIN url AS u ON u.id = r.url_id
      JOIN content_type AS t ON t.id = r.content_type_id
      JOIN public_url AS p ON p.id = r.public_url_id
      WHERE b.sha256 = ? AND u.channel_id = ? ORDER BY u.text, r.version
      """, sha256, channel.id
    ) { (row) throws(StoreError) in
      let url = try Stored.url(row.get(0))
      urls.insert(url)
      downloads.append(try ManifestRow(row, from: 1).entry(url, in: channel).download)
    }
    guard !urls.isEmpty else { return nil }
    let versions = try versions(with: sha256, in: channel.id)
    let gone = Set(versions)
    let bases = try publicURLs(of: channel)
    let zips = try zips(of: versions, in: channel.id, places: bases.count)
    for base in bases {
      let place = "\(base)/\(channel.name.space)/\(channel.app)"
      downloads += deltas.map {
        DeltaPath(channel: channel.name, target: $0.target, base: $0.base).url(publicURL: base)
      }
      for pack in packs[channel.id] ?? [] where gone.contains(pack.version) || gone.contains(pack.base) {
        downloads.append(pack.path(of: channel).url(publicURL: base))
      }
      zipURLs += zips.map { "\(place)/\($0)" }
    }
    let live = try holders(of: sha256, in: channel, at: nil)
    var (full, candidateBundles) = (live, Set<BundleName>())
    if let rollout = channel.rollout {
      full = try holders(of: sha256, in: channel, at: rollout.full)
      candidateBundles = Set(try bundles(of: rollout, in: channel.id).map(\.name))
    }
    return PurgePlan.Use(
      channel: channel, urls: urls.sorted { $0.text < $1.text }, live: live, full: full,
      candidateBundles: candidateBundles, versions: versions,
      pinned: try pinned(channel.id).filter(gone.contains), downloads: downloads, zips: zipURLs)
  }

  /// The channel's public URL and those that it had when the files of its kept versions came: CDNs there have what they had.
  func publicURLs(of channel: ChannelInfo) throws(StoreError) -> [BaseURL] {
    let others = try all(
      """
      SELECT p.text FROM public_url AS p
      WHERE p.id <> ?2 AND p.id IN (SELECT r.public_url_id FROM url AS u JOIN resource AS r ON r.url_id = u.id
        WHERE u.channel_id = ?1)
      ORDER BY p.id
      """, channel.id, channel.publicURLID
    ) { (row) throws(StoreError) in try Stored.base(row.get(0)) }
    return [channel.publicURL] + others
  }

  /// Which zips may have been made of these versions: whole ones, and updates from and to any kept version, each of which may
  /// have been made while its newer version was the newest. Where they are too many to list, a pattern stands for all.
  /// - Parameter places: below how many public URLs they are listed.
  private func zips(of gone: [ManifestVersion], in channel: Int64, places: Int) throws(StoreError) -> [String]
  {
    let kept = try all("SELECT version FROM release WHERE channel_id = ? ORDER BY version", channel) {
      $0.version(0)
    }
    let isGone = Set(gone)
    var (updates, before) = (0, 0)
    for (place, version) in kept.enumerated() {
      updates += isGone.contains(version) ? place : before
      if isGone.contains(version) { before += 1 }
    }
    guard (gone.count + 2 * updates) * places <= PurgePlan.zipLimit else { return ["bundle/*"] }
    return gone.map { BundleZip.whole($0).description }
      + kept.enumerated().flatMap { place, to in
        kept[..<place].filter { isGone.contains($0) || isGone.contains(to) }.flatMap {
          [BundleZip.update(from: $0, to: to).description, BundleZip.deltas(from: $0, to: to).description]
        }
      }
  }

  private func versions(with sha256: SHA256, in channel: Int64) throws(StoreError) -> [ManifestVersion] {
    try all(
      """
      SELECT v.version FROM release AS v WHERE v.channel_id = ?2 AND EXISTS (
        SELECT 1 FROM blob AS b
        JOIN resource AS r ON r.blob_id = b.id
        JOIN entry AS e ON e.resource_id = r.id
        JOIN url AS u ON u.id = e.url_id
        WHERE b.sha256 = ?1 AND u.channel_id = ?2 AND e.since <= v.version AND (e.until IS NULL OR e.until > v.version))
      ORDER BY v.version
      """, sha256, channel
    ) { $0.version(0) }
  }

  private func pinned(_ channel: Int64) throws(StoreError) -> [ManifestVersion] {
    try all("SELECT version FROM pin WHERE channel_id = ? ORDER BY version", channel) { $0.version(0) }
  }

  /// Which bundles hold the bytes, under which URLs: what is live, or at the full version beside a rollout.
  private func holders(of sha256: SHA256, in channel: ChannelInfo, at full: ManifestVersion?)
    throws(StoreError) -> [(bundle: BundleInfo, urls: Set<ResourceURL>)]
  {
    var urls: [BundleName: Set<ResourceURL>] = [:]
    try each(
      """
      SELECT n.name, u.text FROM blob AS b
      JOIN resource AS r ON r.blob_id = b.id
      JOIN entry AS e ON e.resource_id = r.id
        AND CASE WHEN ?3 IS NULL THEN e.until IS NULL ELSE e.since <= ?3 AND (e.until IS NULL OR e.until > ?3) END
      JOIN bundle AS n ON n.id = e.bundle_id
      JOIN url AS u ON u.id = e.url_id
      WHERE b.sha256 = ?1 AND n.channel_id = ?2
      """, sha256, channel.id, full?.number
    ) { (row) throws(StoreError) in
      urls[try Stored.bundle(row.get(0)), default: []].insert(try Stored.url(row.get(1)))
    }
    let holders =
      if let full { try bundles(of: channel.id, atFull: full) } else { try bundles(of: channel.id) }
    return holders.compactMap { bundle in urls[bundle.name].map { (bundle, $0) } }
  }

  /// Deletes the versions that have the bytes, and the bytes' rows.
  /// - Throws: `stillLive`.
  func erase(_ plan: PurgePlan) throws(StoreError) {
    let sha256 = plan.sha256
    let isLive = try value(
      Int64.self,
      """
      SELECT EXISTS (SELECT 1 FROM blob AS b JOIN resource AS r ON r.blob_id = b.id
        JOIN entry AS e ON e.resource_id = r.id AND e.until IS NULL WHERE b.sha256 = ?)
      """, sha256)
    if isLive == 1 { throw .stillLive(sha256) }
    // The full version beside a rollout is live as well.
    for use in plan.uses {
      guard let rollout = try openRollout(of: use.channel.id) else { continue }
      if use.versions.contains(rollout.full) || use.versions.contains(rollout.candidate) {
        throw .stillLive(sha256)
      }
    }
    // Somebody may have lifted it meanwhile.
    guard try isPurged(sha256) else { throw .notPurged(sha256) }
    try noteURLs(of: plan)
    for use in plan.uses {
      for version in use.versions {
        try run("DELETE FROM pin WHERE channel_id = ? AND version = ?", use.channel.id, version.number)
        try ReleaseRow.delete(version, of: use.channel.id, in: self)
      }
    }
    try run(
      """
      DELETE FROM entry WHERE resource_id IN
        (SELECT r.id FROM resource AS r JOIN blob AS b ON b.id = r.blob_id WHERE b.sha256 = ?)
      """, sha256)
    try run("DELETE FROM resource WHERE blob_id = (SELECT id FROM blob WHERE sha256 = ?)", sha256)
    try forgetSourceMaps(with: sha256)
    try run("DELETE FROM page_picture WHERE blob_id = (SELECT id FROM blob WHERE sha256 = ?)", sha256)
    try run("DELETE FROM blob WHERE sha256 = ?", sha256)
    try run("INSERT INTO purge_work (sha256) VALUES (?) ON CONFLICT DO NOTHING", sha256)
  }
}

extension Database {
  /// Notes what a purge removes: whoever has to purge a CDN, too, may ask once more.
  private func noteURLs(of plan: PurgePlan) throws(StoreError) {
    for use in plan.uses {
      try note(use.downloads + use.zips, with: plan.sha256, areDownloads: true)
      try note(use.urls.map(\.text), with: plan.sha256, areDownloads: false)
    }
  }

  /// Notes URLs under which purged bytes could be reached.
  func note(_ urls: [String], with sha256: SHA256, areDownloads: Bool) throws(StoreError) {
    for url in urls {
      try run(
        "INSERT INTO purged_url (sha256, text, is_download) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", sha256,
        url,
        areDownloads ? 1 : 0)
    }
  }
}

extension Database {
  /// Whether bytes are refused.
  func isPurged(_ sha256: SHA256) throws(StoreError) -> Bool {
    try value(Int64.self, "SELECT 1 FROM purge WHERE sha256 = ?", sha256) != nil
  }

  /// The digests of all bytes that are refused.
  func forbiddenDigests() throws(StoreError) -> Set<SHA256> {
    Set(try all("SELECT sha256 FROM purge") { $0.get(0, as: SHA256.self) })
  }

  /// Notes that bytes are refused; returns false if they were already.
  @discardableResult
  func forbid(_ sha256: SHA256, reason: String, by actor: Actor, now: Int64) throws(StoreError) -> Bool {
    let isNew =
      try value(
        Int64.self,
        "INSERT INTO purge (sha256, at, author, reason) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1",
        sha256, now, actor.name, reason) != nil
    if isNew {
      try audit(
        AuditEvent(
          "purge.begin", parameters: ["reason": .string(reason), "sha256": .string(sha256.hex)],
          result: ["changes": ["refused": .change(from: false, to: true)]]), by: actor, now: now)
    }
    return isNew
  }
}

extension DerivedStore {
  /// The stored deltas that lead to some bytes, or from them.
  func deltas(with sha256: SHA256) throws(StoreError) -> [(target: SHA256, base: SHA256)] {
    try work { (db) throws(StoreError) in
      try db.all(
        "SELECT target, base FROM delta WHERE size IS NOT NULL AND (target = ?1 OR base = ?1)", sha256
      ) { (target: $0.get(0, as: SHA256.self), base: $0.get(1, as: SHA256.self)) }
    }
  }
}
