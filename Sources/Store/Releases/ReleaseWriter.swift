import Manifests
import System

/// Writes a planned release inside the transaction that its caller began.
struct ReleaseWriter {
  private let db: Database
  private let plan: ReleasePlan
  private let request: ReleaseInput
  private let blobs: BlobStore
  private let channel: ChannelInfo
  private let version: ManifestVersion
  /// Milliseconds since 1970.
  private let at: Int64

  private var contentTypes: [ContentType: Int64] = [:]
  private var urlIDs: [ResourceURL: Int64]
  private var resources: [ResourceURL: Int64]

  /// A row of the resource table and what a manifest says of it.
  private struct Resource {
    let id: Int64
    let entry: Entry
  }

  init(_ plan: ReleasePlan, of request: ReleaseInput, in db: Database, blobs: BlobStore, now: Int64)
    throws(StoreError)
  {
    self.db = db
    self.plan = plan
    self.request = request
    self.blobs = blobs
    if let known = plan.channel {
      channel = known
    } else {
      channel = try db.makeChannel(request.app, request.channel, publicURL: request.publicURLForNew, now: now)
    }
    version = channel.nextVersion
    // Release times never go back, whatever the clock does.
    at = max(now, channel.at ?? 0)
    urlIDs = plan.urlIDs
    resources = plan.shared
  }

  /// Writes the release; `digest` is asked once for the sha256 of the resourcemap that it leads to.
  mutating func write(digest: (PreparedRelease) throws(StoreError) -> SHA256) throws(StoreError)
    -> ReleaseOutcome
  {
    var changes: [EntryChange] = []
    changes.reserveCapacity(plan.union.count)
    for step in plan.union {
      guard let content = step.new else {
        changes.append(EntryChange(url: step.url, entry: nil))
        continue
      }
      let resource = try resource(step.url, content)
      resources[step.url] = resource.id
      changes.append(EntryChange(url: step.url, entry: resource.entry))
    }
    let prepared = PreparedRelease(channel: channel, version: version, at: at, changes: changes)
    let digest = try digest(prepared)
    try writeRelease(digest)
    try writeEntries(try writeBundles())
    return outcome(changes, digest)
  }

  // MARK: - Resources

  /// The row for a content of a URL: the one it had before, else a new one with the next resource version.
  private mutating func resource(_ url: ResourceURL, _ content: ResourceContent) throws(StoreError)
    -> Resource
  {
    let blob = try blobID(url, content)
    let type = try contentTypeID(content.ctype)
    if let id = urlIDs[url], let old = try oldResource(url, id, blob: blob, type: type, content) {
      return old
    }
    let urlID = try knownOrNewID(url)
    let number = try db.value(Int64.self, "SELECT versions + 1 FROM url WHERE id = ?", urlID) ?? 1
    try db.run(
      """
      INSERT INTO resource (url_id, version, blob_id, content_type_id, public_url_id, brought_in)
      VALUES (?, ?, ?, ?, ?, ?)
      """, urlID, number, blob, type, channel.publicURLID, version.number)
    let id = db.lastRowID
    let download = DownloadPath(
      channel: channel.name, appID: channel.appID, manifestVersion: version, resourceVersion: number,
      sha256: content.sha256, url: url)
    return Resource(
      id: id,
      entry: Entry(content, download: download.url(publicURL: channel.publicURL), version: number))
  }

  /// "Bytes that come back get their old version and download URL back."
  private func oldResource(
    _ url: ResourceURL, _ urlID: Int64, blob: Int64, type: Int64, _ content: ResourceContent
  ) throws(StoreError) -> Resource? {
    try db.first(
      """
      SELECT r.id, r.version, r.brought_in, p.text
      FROM resource AS r JOIN public_url AS p ON p.id = r.public_url_id
      WHERE r.url_id = ?1 AND r.blob_id = ?2 AND r.content_type_id = ?3
      ORDER BY r.public_url_id = ?4 DESC, r.id DESC LIMIT 1
      """, urlID, blob, type, channel.publicURLID
    ) { (row) throws(StoreError) in
      let download = DownloadPath(
        channel: channel.name, appID: channel.appID, manifestVersion: row.version(2),
        resourceVersion: row.get(1), sha256: content.sha256, url: url)
      return Resource(
        id: row.get(0),
        entry: Entry(
          content, download: download.url(publicURL: try Stored.base(row.get(3))), version: row.get(1)))
    }
  }

  private mutating func knownOrNewID(_ url: ResourceURL) throws(StoreError) -> Int64 {
    if let id = urlIDs[url] { return id }
    let key = url.matchKey
    try db.run(
      "INSERT INTO url (channel_id, text, match_key) VALUES (?, ?, ?)", channel.id, url.text,
      key == url.text ? nil : key)
    let id = db.lastRowID
    urlIDs[url] = id
    return id
  }

  private mutating func contentTypeID(_ type: ContentType) throws(StoreError) -> Int64 {
    if let known = contentTypes[type] { return known }
    var id = try db.value(Int64.self, "SELECT id FROM content_type WHERE text = ?", type.text)
    if id == nil {
      try db.run("INSERT INTO content_type (text) VALUES (?)", type.text)
      id = db.lastRowID
    }
    contentTypes[type] = id
    return id ?? 0
  }

  /// The row of a content's bytes, which are durable under `blobs/` by now (step 4 of the order in which a release
  /// is made durable).
  private func blobID(_ url: ResourceURL, _ content: ResourceContent) throws(StoreError) -> Int64 {
    let sha256 = content.sha256
    if let row = try BlobStore.row(of: sha256, in: db), !row.isQuarantined {
      try content.check(against: row.digest, url)
      return row.id
    }
    guard let digest = blobs.placed(sha256) else { throw .missingBlobs([sha256]) }
    try content.check(against: digest, url)
    try db.run(
      "INSERT INTO blob (sha256, md5, size, stored_at, checked_at) VALUES (?, ?, ?, ?, ?)", sha256,
      digest.md5,
      digest.size, at, at)
    return db.lastRowID
  }

  // MARK: - The release and its rows

  private func writeRelease(_ digest: SHA256) throws(StoreError) {
    let counts = plan.counts
    try db.run(
      """
      INSERT INTO release (channel_id, version, kind, at, author, message, digest, added, changed, removed,
        new_bytes, resources, bytes)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, channel.id, version.number, request.kind.rawValue, at, request.author, request.message, digest,
      counts.added, counts.changed, counts.removed, plan.newBytes, plan.resources, plan.bytes)
  }

  /// Writes what the release did to each bundle; gives the bundles' rows with their steps.
  private func writeBundles() throws(StoreError) -> [(id: Int64, steps: [ReleasePlan.Step])] {
    var rows: [(id: Int64, steps: [ReleasePlan.Step])] = []
    for bundle in plan.bundles where !bundle.steps.isEmpty {
      let id: Int64
      if let info = bundle.info {
        id = info.id
      } else {
        try db.run("INSERT INTO bundle (channel_id, name) VALUES (?, ?)", channel.id, bundle.name.text)
        id = db.lastRowID
      }
      let counts = ReleasePlan.counts(bundle.steps)
      let growth = ReleasePlan.growth(bundle.steps)
      try db.run(
        """
        INSERT INTO release_bundle (bundle_id, version, channel_id, added, changed, removed, resources, bytes)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """, id, version.number, channel.id, counts.added, counts.changed, counts.removed,
        (bundle.info?.resources ?? 0) + growth.resources, (bundle.info?.bytes ?? 0) + growth.bytes)
      rows.append((id, bundle.steps))
    }
    return rows
  }

  /// Ends the old rows of all bundles before any new one begins, as the rule that live rows of a URL agree asks.
  private func writeEntries(_ bundles: [(id: Int64, steps: [ReleasePlan.Step])]) throws(StoreError) {
    for (bundle, steps) in bundles {
      for step in steps where step.old != nil {
        try db.run(
          "UPDATE entry SET until = ? WHERE url_id = ? AND bundle_id = ? AND until IS NULL", version.number,
          urlIDs[step.url], bundle)
      }
    }
    for (bundle, steps) in bundles {
      for step in steps where step.new != nil {
        try db.run(
          "INSERT INTO entry (url_id, bundle_id, since, resource_id) VALUES (?, ?, ?, ?)", urlIDs[step.url],
          bundle, version.number, resources[step.url])
      }
    }
  }

  private func outcome(_ changes: [EntryChange], _ digest: SHA256) -> ReleaseOutcome {
    ReleaseOutcome(
      changed: true,
      channel: channel.after(version, at: at, digest: digest, resources: plan.resources, bytes: plan.bytes),
      version: version, previous: channel.version, at: at, changes: changes, counts: plan.counts,
      bundles: plan.bundles.map(ReleaseOutcome.Bundle.init), newBytes: plan.newBytes,
      resources: plan.resources,
      bytes: plan.bytes, createdApp: !plan.appExists, createdChannel: plan.channel == nil, missing: [])
  }
}
