import Manifests
import System

/// What a garbage collection would remove, determined from one state of the database.
struct CollectionForecast {
  private let store: Store
  private let policy: RetentionPolicy

  init(_ store: Store, _ policy: RetentionPolicy) {
    self.store = store
    self.policy = policy
  }

  func report() throws(StoreError) -> CollectionReport {
    var report = CollectionReport()
    var staying: Set<String> = []
    try store.connections.reading { (db) throws(StoreError) in
      var needed: Set<Int64> = []
      var pictures: Set<Int64> = []
      for channel in try db.channels() + db.channels(removed: true) {
        report.documents += try db.unneededDocuments(of: channel.id, policy, now: store.clock()).count
        guard channel.version > .none else { continue }
        let kept = try db.retainedVersions(of: channel.id, policy, now: store.clock())
        let versions = kept.map(\.version.number)
        let dropped = try db.versions(of: channel.id).filter { !versions.contains($0.number) }
        report.channels.append(.init(app: channel.app, name: channel.name, dropped: dropped, kept: kept))
        report.entries += try collect(&needed, channel.id, versions, in: db)
        pictures.formUnion(try db.pictureBlobs(of: channel.id, versions: Set(versions)))
      }
      staying = try count(needed, pictures, in: db, &report)
    }
    let waiting = store.blobs.waitingNames
    for sha256 in try store.blobs.files() where try store.blobs.row(of: sha256) == nil {
      if waiting.contains(sha256.hex) { continue }
      report.orphans.add((try? Kernel.status(store.folder.blob(sha256)))??.size ?? 0)
    }
    let sweep = DerivedSweep(store: store)
    let versions = Dictionary(
      uniqueKeysWithValues: try allChannels().map { (channel) throws(StoreError) in
        let kept = try store.keptVersions(of: channel, policy)
        return (String(channel.id), Set(kept.map(\.version.number)))
      })
    for path in try sweep.unneeded(blobs: staying, versions: versions) {
      report.derived.add((try? Kernel.status(path))??.size ?? 0)
    }
    return report
  }

  private func allChannels() throws(StoreError) -> [ChannelInfo] {
    try store.connections.reading { (db) throws(StoreError) in try db.channels() + db.channels(removed: true)
    }
  }

  /// Collects the resources that kept versions name.
  /// - Returns: how many rows would be removed.
  private func collect(_ needed: inout Set<Int64>, _ channel: Int64, _ kept: [Int64], in db: Database)
    throws(StoreError) -> Int
  {
    var doomed = 0
    try db.each(
      """
      SELECT e.resource_id, e.since, e.until FROM bundle AS b JOIN entry AS e ON e.bundle_id = b.id
      WHERE b.channel_id = ?
      """, channel
    ) { row in
      let (since, until) = (row.get(1, as: Int64.self), row.get(2, as: Int64?.self) ?? .max)
      let first = kept.partitionPoint { $0 >= since }
      if until == .max || (first < kept.count && kept[first] < until) {
        needed.insert(row.get(0))
      } else {
        doomed += 1
      }
    }
    return doomed
  }

  /// - Parameter pictures: the blobs that pictures of kept versions need.
  private func count(
    _ needed: Set<Int64>, _ pictures: Set<Int64>, in db: Database, _ report: inout CollectionReport
  ) throws(StoreError) -> Set<String> {
    var blobs = pictures
    var urls: Set<Int64> = []
    var resources = 0
    try db.each("SELECT id, blob_id, url_id FROM resource") { row in
      if needed.contains(row.get(0)) {
        blobs.insert(row.get(1))
        urls.insert(row.get(2))
      } else {
        resources += 1
      }
    }
    report.resources = resources
    try SourceMapRow.addStaying(with: needed, to: &blobs, now: store.clock(), in: db)
    var removedURLs = 0
    try db.each(
      """
      SELECT id FROM url
      WHERE versions <= 1 OR channel_id IN (SELECT id FROM channel WHERE removed_at IS NOT NULL)
      """
    ) { row in
      if !urls.contains(row.get(0)) { removedURLs += 1 }
    }
    report.urls = removedURLs
    var staying: Set<String> = []
    var files = FileTotal()
    try db.each("SELECT id, size, sha256 FROM blob") { row in
      if blobs.contains(row.get(0)) {
        staying.insert(row.get(2, as: SHA256.self).hex)
      } else {
        files.add(row.get(1))
      }
    }
    report.blobs = files
    return staying
  }
}
