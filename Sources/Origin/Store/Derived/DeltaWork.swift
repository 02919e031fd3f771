import Manifests
import System
import Values

/// What a release would do: enough to make its deltas beforehand and to report its cost.
package struct ReleasePreview: Sendable {
  /// The channel as it is; nil if it is yet to be created.
  package let channel: ChannelInfo?
  /// The channel, even if it is yet to be created; then its ids are placeholders.
  package let planned: ChannelInfo?
  /// The URLs that are added or changed in the channel's manifest, sorted by URL.
  package let new: [(url: ResourceURL, content: ResourceContent)]
  /// The URLs that are removed.
  package let gone: [ResourceURL]
  /// The entries that the release will write for the new contents, unless another release comes first; empty for a
  /// channel's first release.
  package let entries: [ResourceURL: Entry]
  /// In a channel with a root, each bundle that the request changes as it would be, ordered by name, and whether devices would take it.
  package var trust: [BundleTrust] = []

  package init(
    channel: ChannelInfo?, planned: ChannelInfo? = nil, new: [(url: ResourceURL, content: ResourceContent)],
    gone: [ResourceURL], entries: [ResourceURL: Entry] = [:]
  ) {
    self.channel = channel
    self.planned = planned ?? channel
    self.new = new
    self.gone = gone
    self.entries = entries
  }
}

extension ReleasePreview {
  /// Creates a preview from a rollback's dry run.
  package init(_ outcome: ReleaseOutcome) {
    self.init(
      channel: outcome.channel,
      new: outcome.changes.compactMap { change in
        guard let entry = change.entry, let ctype = ContentType(entry.ctype) else { return nil }
        let digest = FileDigest(md5: entry.md5, sha256: entry.sha256, size: entry.size)
        return (
          change.url,
          ResourceContent(
            digest, ctype: ctype, headers: entry.headers, fallbacks: entry.fallbacks, isLazy: entry.isLazy)
        )
      },
      gone: outcome.changes.filter { $0.entry == nil }.map(\.url),
      entries: Dictionary(
        outcome.changes.compactMap { change in change.entry.map { (change.url, $0) } },
        uniquingKeysWith: { $1 }))
  }
}

extension Store {
  /// Previews a release. Its bytes are reserved as by `missing`, because its deltas are made from them.
  /// - Throws: the refusals of `commit`, except for missing bytes.
  package func preview(_ request: ReleaseInput) throws(StoreError) -> ReleasePreview {
    let (plan, edition) = try plan(request)
    lastPlan.keep(plan, of: request, at: edition)
    if plan.isChange, !request.dryRun, let channel = plan.channel {
      try checkFreeze(of: channel, request)
    }
    _ = try blobs.missing(of: plan.contents.map(\.content.sha256))
    let planned =
      plan.channel
      ?? request.publicURLForNew.map { publicURL in
        ChannelInfo(
          id: 0, app: request.app, appID: 1, name: request.channel, publicURL: publicURL, version: .none,
          at: nil, digest: nil, resources: 0, bytes: 0, rollback: nil, hosts: nil, publicURLID: 0,
          leastNext: 0, bundlesSince: plan.namesBundles ? ManifestVersion(1) : nil)
      }
    var preview = ReleasePreview(
      channel: plan.channel, planned: planned,
      new: plan.union.compactMap { step in step.new.map { (step.url, $0) } },
      gone: plan.union.filter { $0.new == nil }.map(\.url), entries: try entries(of: plan))
    preview.trust = try trust(of: plan, request)
    return preview
  }

  /// The entries as `ReleaseWriter` will write them.
  private func entries(of plan: ReleasePlan) throws(StoreError) -> [ResourceURL: Entry] {
    guard let channel = plan.channel, channel.version != .none else { return [:] }
    return try connections.reading { (db) throws(StoreError) in
      var entries: [ResourceURL: Entry] = [:]
      for step in plan.union {
        guard let content = step.new else { continue }
        entries[step.url] = try db.nextEntry(
          content, of: step.url, plan.urlIDs[step.url], bundle: step.bundle, in: channel)
      }
      return entries
    }
  }

  /// Those of `digests` whose bytes are in the manifest of a version, under any URL.
  /// - Parameter withoutLazy: only those that every device with the manifest holds.
  package func held(
    _ digests: some Sequence<SHA256>, _ channel: ChannelInfo, at version: ManifestVersion,
    withoutLazy: Bool = false
  ) throws(StoreError) -> Set<SHA256> {
    try connections.reading { (db) throws(StoreError) in
      var held: Set<SHA256> = []
      for sha256 in digests {
        let row = try db.value(
          Int64.self,
          """
          SELECT 1 FROM blob AS b
          JOIN resource AS r ON r.blob_id = b.id
          JOIN url AS u ON u.id = r.url_id
          JOIN content_type AS t ON t.id = r.content_type_id
          JOIN entry AS e ON e.resource_id = r.id
          WHERE b.sha256 = ?1 AND u.channel_id = ?2 AND e.since <= ?3 AND (e.until IS NULL OR e.until > ?3)
            AND t.lazy <= ?4
          LIMIT 1
          """, sha256, channel.id, version.number, withoutLazy ? 0 : 1)
        if row != nil { held.insert(sha256) }
      }
      return held
    }
  }

  /// The live URLs of a channel that begin with `prefix`, at most `limit`.
  package func liveURLs(_ channel: ChannelName, app: Int64, beginning prefix: String, limit: Int)
    throws(StoreError) -> [ResourceURL]
  {
    try connections.reading { (db) throws(StoreError) in
      try db.all(
        """
        SELECT u.text FROM url AS u JOIN channel AS c ON c.id = u.channel_id
        WHERE c.app_id = ?1 AND c.name = ?2 AND u.text >= ?3 AND u.text < ?3 || char(1114111)
          AND EXISTS (SELECT 1 FROM entry AS e WHERE e.url_id = u.id AND e.until IS NULL)
        LIMIT ?4
        """, app, channel.text, prefix, limit
      ) { (row) throws(StoreError) in try Stored.url(row.get(0)) }
    }
  }

  /// The checked bytes of a blob, whether or not a release names it yet; nil if there is none or it has more than `limit` bytes.
  package func bytes(of sha256: SHA256, limit: Int) throws(StoreError) -> [UInt8]? {
    let waiting = try blobs.waiting(sha256) != nil
    for path in waiting ? [folder.whole(sha256), folder.blob(sha256)] : [folder.blob(sha256)] {
      let bytes = try StoreError.disk { () throws(SystemError) -> [UInt8]? in
        guard let status = try Kernel.status(path), status.kind == .file, status.size <= limit else {
          return nil
        }
        return try DurableFile.read(path, limit: limit)
      }
      if let bytes, SHA256.of(bytes) == sha256 { return bytes }
    }
    return nil
  }

  /// The versions just before the last `count` changes of each bundle, which devices may have.
  package func basesWorthDeltas(_ channel: ChannelInfo, count: Int) throws(StoreError) -> [ManifestVersion] {
    try connections.reading { (db) throws(StoreError) in
      try db.all(
        """
        SELECT DISTINCT (SELECT max(version) FROM release AS r
          WHERE r.channel_id = ?1 AND r.version < changed.version) AS base
        FROM (SELECT version, row_number() OVER (PARTITION BY bundle_id ORDER BY version DESC) AS place
          FROM release_bundle WHERE channel_id = ?1) AS changed
        WHERE place <= ?2 AND base IS NOT NULL ORDER BY base DESC
        """, channel.id, count
      ) { row in row.version(0) }.filter { !channel.crossesRebase(from: $0, to: channel.version) }
    }
  }

  /// The kept versions of a channel below `version`, newest first, at most `limit`.
  package func versions(_ channel: ChannelInfo, below version: ManifestVersion, limit: Int) throws(StoreError)
    -> [ManifestVersion]
  {
    try connections.reading { (db) throws(StoreError) in
      try db.newestVersions(of: channel.id, below: version.number, limit: limit)
    }
  }
}
