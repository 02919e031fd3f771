import Manifests
import System
import Trust
import Values

extension Store {
  /// Creates an origin from what a mirror kept, all or nothing. The bytes of every resource must have been received before.
  ///
  /// - Parameters:
  ///   - channels: the channels as the mirror has them.
  ///   - defaultApp: the app that answers polls that name none.
  ///   - lost: resources whose bytes the mirror no longer has; they count as missing until they are published again.
  ///   - purged: what is refused from the start; all of it that the channels have must be among `lost`.
  /// - Throws: `notEmpty` if the folder already holds an app; `missingBlobs`.
  package func restore(
    _ channels: [RestoredChannel], defaultApp: AppName?, lost: Set<SHA256> = [], purged: [SHA256] = []
  ) throws(StoreError) {
    let digests = Set(channels.flatMap { $0.releases.flatMap { $0.items.map(\.entry.sha256) } })
      .subtracting(lost)
    let missing = try blobs.missing(of: Array(digests))
    guard missing.isEmpty else { throw .missingBlobs(missing) }
    try blobs.persist(digests.sorted { $0.hex < $1.hex })
    let (folder, now) = (folder, clock())
    try connections.transaction { (db) throws(StoreError) in
      guard try db.value(Int64.self, "SELECT EXISTS (SELECT 1 FROM app)") == 0 else {
        throw .notEmpty(path: folder.path)
      }
      // Apps keep their ids, which are part of download URLs; inserted in order, so that new ids follow the highest.
      for channel in channels.sorted(by: { $0.appID < $1.appID }) {
        var restorer = try ChannelRestorer(channel, in: db, blobs: blobs, lost: lost, now: now)
        try restorer.write()
        try db.audit(channel.act, by: .local, now: now)
      }
      // After the rows of what a copy still had: they stay as lost.
      for sha256 in purged { try db.forbid(sha256, reason: Self.purgedBefore, by: .local, now: now) }
      if let app = defaultApp, let id = try AppRow.id(of: app, in: db) { try AppRow.setDefault(id, in: db) }
    }
    blobs.forgetPersisted(Array(digests))
    blobs.forbid(try purges())
  }

  /// A copy has no reasons, which may be as confidential as what was purged.
  private static let purgedBefore = "purged at the origin that this one was restored from"
}

extension RestoredChannel {
  /// The first act in the new folder's audit trail.
  fileprivate var act: AuditEvent {
    AuditEvent(
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
  private let channelID: Int64
  private var urls: URLRows
  private var resources: [Entry: Int64] = [:]
  private var bundles: [BundleName: Int64] = [:]
  /// The resource of each URL that a bundle holds.
  private var held: [BundleName: [ResourceURL: Int64]] = [:]
  /// Whether the entries of the releases so far name their bundles.
  private var namesBundles = false

  /// A mirror doesn't name the author.
  private static let author = "xcache restore"

  /// Creates the channel, and its app if that is missing.
  init(
    _ channel: RestoredChannel, in db: Database, blobs: BlobStore, lost: Set<SHA256>, now: Int64
  ) throws(StoreError) {
    self.channel = channel
    self.db = db
    self.blobs = blobs
    self.lost = lost
    self.now = now
    if try AppRow.id(of: channel.app, in: db) == nil {
      _ = try AppRow.insert(channel.app, id: channel.appID, now: now, in: db)
    }
    channelID = try ChannelRow.insert(
      channel.name, of: channel.appID, publicURL: channel.publicURL, now: now, in: db)
    urls = URLRows(of: channelID)
  }

  /// Writes everything that the channel had.
  mutating func write() throws(StoreError) {
    try makeResources()
    // What names bundles takes the floors of the roots.
    if let trust = channel.trust { try writeRoots(trust) }
    for release in channel.releases { try write(release) }
    if let trust = channel.trust { try write(trust) }
    guard let newest = channel.releases.last else { return }
    for bundle in newest.bundles { try finish(bundle) }
    let next = try RestoreGap.next(after: newest.version.number, atLeast: channel.leastNext)
    try ChannelRow.raiseNext(to: next, of: channelID, in: db)
    var settings = SettingsChange(interval: channel.extras.interval)
    settings.reports = .some(channel.extras.reports)
    settings.samples = channel.extras.samples != 0
    try ChannelRow.set(settings, of: channelID, in: db)
    // For a release that the mirror doesn't keep; that of a kept release is noted already.
    if let rollback = channel.extras.rollback, rollback <= newest.version {
      try ChannelRow.noteRollback(rollback, of: channelID, in: db)
    }
    for document in channel.documents { try write(document) }
    for document in ChannelDocument.allCases { try leaveGap(after: document) }
    if channel.trust != nil { try RestoredNumbers.take(of: channelID, by: Self.author, now: now, in: db) }
    for script in channel.scripts { _ = try db.keepScript(script, SHA256.of(script), now: now) }
  }

  // MARK: - URLs and their resources

  private mutating func makeResources() throws(StoreError) {
    var entries: [(url: ResourceURL, entry: Entry)] = []
    for item in channel.releases.flatMap(\.items) {
      let entry = item.entry.withoutBundle
      if resources.updateValue(0, forKey: entry) == nil { entries.append((item.url, entry)) }
    }
    // Resource versions rise by one; versions that no kept manifest has are skipped.
    for (url, entry) in entries.sorted(by: { ($0.url, $0.entry.version) < ($1.url, $1.entry.version) }) {
      resources[entry] = try makeResource(url, entry)
    }
    for (url, versions) in channel.counters {
      try URLRow.raiseVersions(of: try urls.findOrInsert(url, in: db), to: versions, in: db)
    }
  }

  private mutating func makeResource(_ url: ResourceURL, _ entry: Entry) throws(StoreError) -> Int64 {
    guard let place = DownloadPlace(entry.download) else { throw .corruptRow(entry.download) }
    let id = try urls.findOrInsert(url, in: db)
    try URLRow.raiseVersions(of: id, to: entry.version - 1, in: db)
    return try ResourceRow(
      url: id, version: entry.version, blob: try blob(url, entry),
      contentType: try ContentTypeRow.findOrInsert(
        entry.ctype, entry.headers, entry.fallbacks, isLazy: entry.isLazy, in: db),
      publicURL: try db.publicURLID(place.base), broughtIn: place.path.manifestVersion
    ).insert(in: db)
  }

  private func blob(_ url: ResourceURL, _ entry: Entry) throws(StoreError) -> Int64 {
    let claimed = FileDigest(md5: entry.md5, sha256: entry.sha256, size: entry.size)
    let row = try BlobRow.find(entry.sha256, in: db)
    let isLost = lost.contains(entry.sha256)
    guard let stored = row?.digest ?? (isLost ? claimed : blobs.persisted(entry.sha256)) else {
      throw .missingBlobs([entry.sha256])
    }
    guard stored == claimed else { throw .contentMismatch(url: url, claimed: claimed, stored: stored) }
    if let row { return row.id }
    return try BlobRow.insert(stored, isLost: isLost, now: now, in: db)
  }

  // MARK: - Releases

  private mutating func write(_ release: RestoredChannel.Release) throws(StoreError) {
    try ReleaseRow(
      channel: channelID, version: release.version, kind: release.kind, at: release.at, author: Self.author,
      message: "", digest: release.digest, counts: release.counts, newBytes: release.newBytes,
      resources: release.resources, bytes: release.bytes
    ).insert(in: db)
    var entries: [ResourceURL: Int64] = [:]
    for item in release.items { entries[item.url] = resources[item.entry.withoutBundle] }
    for bundle in release.bundles { try makeBundle(bundle) }
    for bundle in release.bundles { try end(bundle, at: release.version, entries) }
    guard let since = channel.trust?.bundlesSince, release.version >= since else {
      for bundle in release.bundles { try begin(bundle, at: release.version, entries) }
      return
    }
    // Of the versions that do so, the first one may not be kept.
    let isFirst = !namesBundles
    if isFirst { try db.nameBundles(of: channelID, since: release.version) }
    namesBundles = true
    for bundle in release.bundles { try begin(bundle, at: release.version, entries) }
    try db.recordContents(of: channelID, at: release.version, ofAll: isFirst)
  }

  // MARK: - Roots and signatures

  private func writeRoots(_ trust: RestoredTrust) throws(StoreError) {
    // Another channel of the app may have brought some of them.
    let known = try db.roots(ofApp: channel.appID).count
    for root in trust.roots.dropFirst(known) {
      try db.insert(root, ofApp: channel.appID, by: Self.author, now: now)
    }
  }

  private func write(_ trust: RestoredTrust) throws(StoreError) {
    for signed in trust.releases { try db.keep(signed, ofApp: channel.appID, by: Self.author, now: now) }
    for signed in trust.prefetch { try db.keep(signed, ofApp: channel.appID, by: Self.author, now: now) }
    for (bundle, floor) in trust.floors { try db.raiseFloor(of: bundle, in: channelID, to: floor) }
    // The times of the heads that follow are above its time.
    if let head = trust.head { try db.set(head.signed, by: head.key, of: channelID) }
  }

  private mutating func makeBundle(_ bundle: RestoredChannel.Bundle) throws(StoreError) {
    if bundles[bundle.name] != nil { return }
    bundles[bundle.name] = try BundleRow.insert(bundle.name, of: channelID, in: db)
  }

  private func id(of bundle: RestoredChannel.Bundle) throws(StoreError) -> Int64 {
    guard let id = bundles[bundle.name] else { throw .corruptRow(bundle.name.text) }
    return id
  }

  /// Ends the rows of URLs that the bundle no longer holds, or holds with another resource.
  private mutating func end(
    _ bundle: RestoredChannel.Bundle, at version: ManifestVersion, _ entries: [ResourceURL: Int64]
  ) throws(StoreError) {
    let (stays, id) = (Set(bundle.urls), try id(of: bundle))
    for (url, resource) in held[bundle.name] ?? [:] where !stays.contains(url) || entries[url] != resource {
      try EntryRow.end(url: try urls.id(of: url), bundle: id, at: version, in: db)
      held[bundle.name]?[url] = nil
    }
  }

  private mutating func begin(
    _ bundle: RestoredChannel.Bundle, at version: ManifestVersion, _ entries: [ResourceURL: Int64]
  ) throws(StoreError) {
    let id = try id(of: bundle)
    var rows: [(row: EntryRow, resource: Int64)] = []
    for url in bundle.urls where held[bundle.name]?[url] == nil {
      guard let resource = entries[url] else { throw .corruptRow(url.text) }
      rows.append((EntryRow(url: try urls.id(of: url), bundle: id, since: version), resource))
      held[bundle.name, default: [:]][url] = resource
    }
    try EntryRow.insert(rows, in: db)
    guard bundle.version == version else { return }
    try ReleaseBundleRow(
      bundle: id, version: version, channel: channelID, counts: bundle.counts, resources: bundle.resources,
      bytes: bundle.bytes
    ).insert(in: db)
  }

  /// Sets the version at which a bundle last changed if no kept release changed it.
  private func finish(_ bundle: RestoredChannel.Bundle) throws(StoreError) {
    try BundleRow.raise(
      try id(of: bundle), to: bundle.version, resources: bundle.resources, bytes: bundle.bytes, in: db)
  }

  private func write(_ document: RestoredChannel.Document) throws(StoreError) {
    let record = DocumentRecord(
      version: document.version, kind: .restore, source: nil, at: now, author: Self.author, message: "",
      manifestVersion: channel.releases.last?.version ?? .none, content: document.content)
    try db.insert(record, document.document, of: channelID)
  }

  /// Devices may know a later version of a document, or a document that the mirror doesn't have.
  private func leaveGap(after document: ChannelDocument) throws(StoreError) {
    let newest = channel.documents.filter { $0.document == document }.map(\.version).max() ?? 0
    let next = try RestoreGap.next(after: newest, atLeast: channel.leastDocuments[document] ?? 1)
    try db.raiseNext(document, of: channelID, to: next)
  }
}

extension Entry {
  /// The entry as one of a resource, which is the same in whichever bundle.
  fileprivate var withoutBundle: Entry { without("bundle") }
}

/// Gives what a restored channel has of policy and prefetch config the next number.
///
/// Devices with a root take no head that names a lower version of these than a head that they have seen, and one of the lost origin may
/// have named a version that nobody has any more.
enum RestoredNumbers {
  /// - Parameter channel: one with a root; nil: every one.
  static func take(of channel: Int64?, by author: String, now: Int64, in db: Database) throws(StoreError) {
    try db.run(
      """
      INSERT INTO document (channel_id, name, version, kind, source, at, author, message, manifest_version, content)
      SELECT c.id, n.name, k.least_next, 'restore', NULL, ?2, ?3, '',
        coalesce((SELECT max(version) FROM release WHERE channel_id = c.id), 0),
        coalesce((SELECT content FROM document AS d WHERE d.channel_id = c.id AND d.name = n.name
          ORDER BY version DESC LIMIT 1), '{}')
      FROM channel AS c JOIN (SELECT 'policy' AS name UNION SELECT 'prefetch') AS n
      JOIN document_counter AS k ON k.channel_id = c.id AND k.name = n.name
      WHERE c.bundles_since IS NOT NULL AND c.removed_at IS NULL AND (?1 IS NULL OR c.id = ?1)
        AND (n.name = 'policy' OR EXISTS (SELECT 1 FROM document AS d WHERE d.channel_id = c.id AND d.name = n.name)
          AND NOT EXISTS (SELECT 1 FROM rollout AS r WHERE r.channel_id = c.id AND r.state = 'open'))
      """, channel, now, author)
  }
}
