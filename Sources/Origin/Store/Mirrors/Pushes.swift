import Manifests
import Values

/// The place to which `serve --cdn push` brings the files of releases.
package struct PushPlace: Hashable, Sendable {
  /// The place's name, for people; a mirror there has the same.
  package let name: String
  /// What tells it from another place with that name: the address where a store answers, or the id that is in a folder.
  package let endpoint: String

  /// Creates a place.
  package init(name: String, endpoint: String) {
    self.name = name
    self.endpoint = endpoint
  }

  /// Whether a registered mirror is a copy at this place: runs whose token is limited add the limits to its name.
  func isOf(mirror: String) -> Bool { mirror == name || mirror.hasPrefix(name + " (") }
}

// What was pushed is recorded after it is durable at the place, and forgotten before it may be removed there: a release
// whose files are all recorded is committed without asking the place.
extension Store {
  /// The place that the records of pushes are about; nil if nothing was ever pushed.
  package func pushPlace() throws(StoreError) -> PushPlace? {
    try connections.reading { (db) throws(StoreError) in try db.pushPlace() }
  }

  /// Has the records be about `place`. What is recorded about another place is forgotten.
  package func beginPushing(to place: PushPlace) throws(StoreError) {
    if try pushPlace() == place { return }
    // First, because this can be repeated: what is announced must be at the new place.
    try derived.forgetPushes()
    try connections.transaction { (db) throws(StoreError) in
      try db.forgetPushes()
      try db.run(
        """
        INSERT INTO push_place (one, name, endpoint) VALUES (1, ?1, ?2)
        ON CONFLICT DO UPDATE SET name = ?1, endpoint = ?2
        """, place.name, place.endpoint)
    }
  }

  /// The changes that add an entry whose file isn't recorded as pushed. What is inserted by an open transaction isn't.
  package func unpushed(_ release: PreparedRelease) throws(StoreError) -> [EntryChange] {
    // A first release may have 100,000 files, and none of them is recorded.
    if release.channel.version == .none { return release.changes.filter { $0.entry != nil } }
    return try connections.reading { (db) throws(StoreError) in
      var left: [EntryChange] = []
      for change in release.changes {
        guard let entry = change.entry else { continue }
        let known = try db.pushes(of: change.url, entry, in: release.channel.id)
        if !known.contains(where: \.isPushed) { left.append(change) }
      }
      return left
    }
  }

  /// Records that the files of a release that was made are at the place.
  package func notePushed(_ release: PreparedRelease) throws(StoreError) {
    let left = try unpushed(release)
    if left.isEmpty { return }
    try connections.transaction { (db) throws(StoreError) in
      for change in left {
        guard let entry = change.entry else { continue }
        for known in try db.pushes(of: change.url, entry, in: release.channel.id) {
          try db.run("INSERT OR IGNORE INTO pushed_resource (resource_id) VALUES (?)", known.resource)
        }
      }
    }
  }

  /// The paths and sizes of all files that are recorded as pushed: of resources, deltas and packs.
  package func pushedFiles() throws(StoreError) -> [(path: String, size: Int64)] {
    var files = try connections.reading { (db) throws(StoreError) in
      try db.all(
        """
        SELECT u.text, b.sha256, b.size, r.version, r.brought_in, c.name, c.app_id
        FROM pushed_resource AS p JOIN resource AS r ON r.id = p.resource_id JOIN blob AS b ON b.id = r.blob_id
        JOIN url AS u ON u.id = r.url_id JOIN channel AS c ON c.id = u.channel_id ORDER BY r.id
        """
      ) { (row) throws(StoreError) in
        let path = DownloadPath(
          channel: try Stored.channel(row.get(5)), appID: row.get(6), manifestVersion: row.version(4),
          resourceVersion: row.get(3), sha256: row.get(1), url: try Stored.url(row.get(0)))
        return (path: path.filePath, size: row.get(2, as: Int64.self))
      }
    }
    files += try derived.pushedDeltas()
    let channels = try channels()
    let packs = try derived.packs()
    let firsts = packs.newestFirsts
    for (id, pack) in packs where pack.isPushed {
      guard let channel = channels.first(where: { $0.id == id }),
        pack.isFirst ? firsts[id] == pack.version : channel.answeredVersions.contains(pack.version)
      else {
        continue
      }
      files.append((pack.path(of: channel).text, pack.size))
    }
    return files
  }
}

extension Database {
  func pushPlace() throws(StoreError) -> PushPlace? {
    try first("SELECT name, endpoint FROM push_place") {
      PushPlace(name: $0.get(0), endpoint: $0.get(1))
    }
  }

  func forgetPushes() throws(StoreError) { try run("DELETE FROM pushed_resource") }

  /// Forgets the resources that a channel's versions from `oldest` on don't name: a mirror at the place may remove their
  /// files.
  func forgetPushes(of channel: Int64, before oldest: ManifestVersion) throws(StoreError) {
    try run(
      """
      DELETE FROM pushed_resource WHERE resource_id IN (
        SELECT r.id FROM url AS u JOIN resource AS r ON r.url_id = u.id
        WHERE u.channel_id = ?1 AND NOT EXISTS (
          SELECT 1 FROM entry AS e WHERE e.resource_id = r.id AND (e.until IS NULL OR e.until > ?2)))
      """, channel, oldest.number)
  }

  /// The resources that an entry's file belongs to, mostly one: their file is the same under another public URL.
  fileprivate func pushes(of url: ResourceURL, _ entry: Entry, in channel: Int64) throws(StoreError)
    -> [(resource: Int64, isPushed: Bool)]
  {
    guard let path = DownloadPlace(entry.download)?.path else { return [] }
    return try all(
      """
      SELECT r.id, p.resource_id IS NOT NULL FROM url AS u JOIN resource AS r ON r.url_id = u.id
      LEFT JOIN pushed_resource AS p ON p.resource_id = r.id
      WHERE u.channel_id = ? AND u.text = ? AND r.version = ? AND r.brought_in = ?
      """, channel, url.text, path.resourceVersion, path.manifestVersion.number
    ) { (resource: $0.get(0), isPushed: $0.get(1, as: Int64.self) != 0) }
  }
}
