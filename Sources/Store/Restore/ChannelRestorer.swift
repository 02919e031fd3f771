import Manifests
import System

extension Store {
  /// Makes an origin of what a mirror kept, all of it or nothing. The bytes of every resource were received before.
  ///
  /// - Parameter lost: resources whose bytes the mirror doesn't have any more; they count as missing until they are
  ///   published again.
  /// - Throws: `notEmpty` where the folder holds an app already; `missingBlobs`.
  package func restore(_ channels: [RestoredChannel], defaultApp: AppName?, lost: Set<SHA256> = [])
    throws(StoreError)
  {
    let digests = Set(channels.flatMap { $0.releases.flatMap { $0.items.map(\.entry.sha256) } })
      .subtracting(lost)
    let missing = try blobs.missing(of: Array(digests))
    guard missing.isEmpty else { throw .missingBlobs(missing) }
    try blobs.place(digests.sorted { $0.hex < $1.hex })
    let (folder, now) = (folder, clock())
    try connections.writing { (db) throws(StoreError) in
      try db.write { () throws(StoreError) in
        guard try db.value(Int64.self, "SELECT EXISTS (SELECT 1 FROM app)") == 0 else {
          throw .notEmpty(path: folder.path)
        }
        // Apps keep their ids, which stand in download URLs; in their order, so that counting goes on after them.
        for channel in channels.sorted(by: { $0.appID < $1.appID }) {
          var writer = ChannelRestorer(channel, in: db, blobs: blobs, lost: lost, now: now)
          try writer.write()
          try db.audit(channel.act, by: .local, now: now)
        }
        if let app = defaultApp, let id = try db.appID(app) {
          try db.run("UPDATE default_app SET app_id = ? WHERE one = 1", id)
        }
      }
    }
    blobs.forgetPlaced(Array(digests))
  }
}

extension RestoredChannel {
  /// What the audit trail of the new folder begins with.
  fileprivate var act: AuditAct {
    AuditAct(
      "restore", app: app, channel: name,
      result: [
        "digest": releases.last.map { .string($0.digest.hex) } ?? .null,
        "version": releases.last.map { .string($0.version.text) } ?? .null,
      ])
  }
}

/// Writes the rows of one restored channel inside the transaction that its caller began.
struct ChannelRestorer {
  private let channel: RestoredChannel
  private let db: Database
  private let blobs: BlobStore
  private let lost: Set<SHA256>
  private let now: Int64
  private var channelID: Int64 = 0
  private var urls: [ResourceURL: Int64] = [:]
  private var resources: [Entry: Int64] = [:]
  private var bundles: [BundleName: Int64] = [:]
  /// What each bundle holds: the resource of each URL.
  private var held: [BundleName: [ResourceURL: Int64]] = [:]

  /// No mirror tells who it was.
  private static let author = "xcache restore"

  init(
    _ channel: RestoredChannel, in db: Database, blobs: BlobStore, lost: Set<SHA256>, now: Int64
  ) {
    self.channel = channel
    self.db = db
    self.blobs = blobs
    self.lost = lost
    self.now = now
  }

  mutating func write() throws(StoreError) {
    try makeChannel()
    try makeResources()
    for release in channel.releases { try write(release) }
    guard let newest = channel.releases.last else { return }
    for bundle in newest.bundles { try finish(bundle) }
    try db.run(
      "UPDATE channel SET least_next = ?, poll_interval = ? WHERE id = ?",
      try RestoreGap.next(after: newest.version.number, atLeast: channel.leastNext), channel.interval,
      channelID)
    for document in channel.documents { try write(document) }
    for document in ChannelDocument.allCases { try leaveGap(after: document) }
    for script in channel.scripts {
      try db.run(
        "INSERT INTO policy_script (sha256, bytes, stored_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        SHA256.of(script), script, now)
    }
  }

  private mutating func makeChannel() throws(StoreError) {
    if try db.appID(channel.app) == nil {
      try db.run(
        "INSERT INTO app (id, name, created_at) VALUES (?, ?, ?)", channel.appID, channel.app.text, now)
      try db.run("INSERT INTO default_app (one, app_id) VALUES (1, ?) ON CONFLICT DO NOTHING", channel.appID)
    }
    try db.run(
      "INSERT INTO channel (app_id, name, public_url_id, created_at) VALUES (?, ?, ?, ?)", channel.appID,
      channel.name.text, try publicURL(channel.publicURL.text), now)
    channelID = db.lastRowID
  }

  private func publicURL(_ text: String) throws(StoreError) -> Int64 {
    try db.run("INSERT INTO public_url (text) VALUES (?) ON CONFLICT DO NOTHING", text)
    return try db.value(Int64.self, "SELECT id FROM public_url WHERE text = ?", text) ?? 0
  }

  // MARK: - URLs and their resources

  private mutating func makeResources() throws(StoreError) {
    var entries: [(url: ResourceURL, entry: Entry)] = []
    for item in channel.releases.flatMap(\.items) where resources.updateValue(0, forKey: item.entry) == nil {
      entries.append((item.url, item.entry))
    }
    // Resource versions rise by one; those that no kept version has are stepped over.
    for (url, entry) in entries.sorted(by: { ($0.url, $0.entry.version) < ($1.url, $1.entry.version) }) {
      resources[entry] = try makeResource(url, entry)
    }
    for (url, versions) in channel.counters {
      try db.run("UPDATE url SET versions = max(versions, ?) WHERE id = ?", versions, try urlID(url))
    }
  }

  private mutating func makeResource(_ url: ResourceURL, _ entry: Entry) throws(StoreError) -> Int64 {
    guard let place = DownloadPlace(entry.download) else { throw .corruptRow(entry.download) }
    let id = try urlID(url)
    try db.run("UPDATE url SET versions = max(versions, ?) WHERE id = ?", entry.version - 1, id)
    try db.run(
      """
      INSERT INTO resource (url_id, version, blob_id, content_type_id, public_url_id, brought_in)
      VALUES (?, ?, ?, ?, ?, ?)
      """, id, entry.version, try blob(url, entry), try contentType(entry.ctype), try publicURL(place.base),
      place.path.manifestVersion.number)
    return db.lastRowID
  }

  private mutating func urlID(_ url: ResourceURL) throws(StoreError) -> Int64 {
    if let known = urls[url] { return known }
    let key = url.matchKey
    try db.run(
      "INSERT INTO url (channel_id, text, match_key) VALUES (?, ?, ?)", channelID, url.text,
      key == url.text ? nil : key)
    urls[url] = db.lastRowID
    return db.lastRowID
  }

  private func contentType(_ text: String) throws(StoreError) -> Int64 {
    try db.run("INSERT INTO content_type (text) VALUES (?) ON CONFLICT DO NOTHING", text)
    return try db.value(Int64.self, "SELECT id FROM content_type WHERE text = ?", text) ?? 0
  }

  private func blob(_ url: ResourceURL, _ entry: Entry) throws(StoreError) -> Int64 {
    let claimed = FileDigest(md5: entry.md5, sha256: entry.sha256, size: entry.size)
    let row = try BlobStore.row(of: entry.sha256, in: db)
    let isLost = lost.contains(entry.sha256)
    guard let stored = row?.digest ?? (isLost ? claimed : blobs.placed(entry.sha256)) else {
      throw .missingBlobs([entry.sha256])
    }
    guard stored == claimed else { throw .contentMismatch(url: url, claimed: claimed, stored: stored) }
    if let row { return row.id }
    try db.run(
      """
      INSERT INTO blob (sha256, md5, size, stored_at, checked_at, quarantined_at) VALUES (?, ?, ?, ?, ?, ?)
      """, stored.sha256, stored.md5, stored.size, now, now, isLost ? now : nil)
    return db.lastRowID
  }

  // MARK: - Releases

  private mutating func write(_ release: RestoredChannel.Release) throws(StoreError) {
    try db.run(
      """
      INSERT INTO release (channel_id, version, kind, at, author, message, digest, added, changed, removed,
        new_bytes, resources, bytes)
      VALUES (?, ?, ?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?)
      """, channelID, release.version.number, release.kind.rawValue, release.at, Self.author, release.digest,
      release.counts.added, release.counts.changed, release.counts.removed, release.newBytes,
      release.resources, release.bytes)
    var entries: [ResourceURL: Int64] = [:]
    for item in release.items { entries[item.url] = resources[item.entry] }
    for bundle in release.bundles { try makeBundle(bundle) }
    for bundle in release.bundles { try end(bundle, at: release.version, entries) }
    for bundle in release.bundles { try begin(bundle, at: release.version, entries) }
  }

  private mutating func makeBundle(_ bundle: RestoredChannel.Bundle) throws(StoreError) {
    if bundles[bundle.name] != nil { return }
    try db.run("INSERT INTO bundle (channel_id, name) VALUES (?, ?)", channelID, bundle.name.text)
    bundles[bundle.name] = db.lastRowID
  }

  /// Ends the rows of what the bundle no longer holds, or holds with another resource.
  private mutating func end(
    _ bundle: RestoredChannel.Bundle, at version: ManifestVersion, _ entries: [ResourceURL: Int64]
  ) throws(StoreError) {
    let stays = Set(bundle.urls)
    for (url, resource) in held[bundle.name] ?? [:] where !stays.contains(url) || entries[url] != resource {
      try db.run(
        "UPDATE entry SET until = ? WHERE url_id = ? AND bundle_id = ? AND until IS NULL", version.number,
        urls[url], bundles[bundle.name])
      held[bundle.name]?[url] = nil
    }
  }

  private mutating func begin(
    _ bundle: RestoredChannel.Bundle, at version: ManifestVersion, _ entries: [ResourceURL: Int64]
  ) throws(StoreError) {
    for url in bundle.urls where held[bundle.name]?[url] == nil {
      guard let resource = entries[url] else { throw .corruptRow(url.text) }
      try db.run(
        "INSERT INTO entry (url_id, bundle_id, since, resource_id) VALUES (?, ?, ?, ?)", urls[url],
        bundles[bundle.name], version.number, resource)
      held[bundle.name, default: [:]][url] = resource
    }
    guard bundle.version == version else { return }
    try db.run(
      """
      INSERT INTO release_bundle (bundle_id, version, channel_id, added, changed, removed, resources, bytes)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """, bundles[bundle.name], version.number, channelID, bundle.counts.added, bundle.counts.changed,
      bundle.counts.removed, bundle.resources, bundle.bytes)
  }

  /// A bundle that no kept release changed still knows at which version it did.
  private func finish(_ bundle: RestoredChannel.Bundle) throws(StoreError) {
    try db.run(
      "UPDATE bundle SET version = ?, resources = ?, bytes = ? WHERE id = ? AND version < ?",
      bundle.version.number, bundle.resources, bundle.bytes, bundles[bundle.name], bundle.version.number)
  }

  private func write(_ document: RestoredChannel.Document) throws(StoreError) {
    let record = DocumentRecord(
      version: document.version, kind: .restore, source: nil, at: now, author: Self.author, message: "",
      manifestVersion: channel.releases.last?.version ?? .none, content: document.content)
    try db.insert(record, document.document, of: channelID)
  }

  /// Devices may know a later version of a document, and the first one of a document that the mirror doesn't have.
  private func leaveGap(after document: ChannelDocument) throws(StoreError) {
    let newest = channel.documents.filter { $0.document == document }.map(\.version).max() ?? 0
    try db.run(
      "INSERT INTO document_counter (channel_id, name, least_next) VALUES (?, ?, ?)", channelID,
      document.rawValue, try RestoreGap.next(after: newest, atLeast: channel.leastDocuments[document] ?? 1))
  }
}
