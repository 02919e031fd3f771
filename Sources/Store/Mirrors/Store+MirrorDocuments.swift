import Manifests
import Platform

/// A resource as a mirror keeps it.
package struct MirroredResource: Hashable, Sendable {
  package let path: DownloadPath
  package let sha256: SHA256
  /// Bytes.
  package let size: Int64
  package let ctype: ContentType

  package init(path: DownloadPath, sha256: SHA256, size: Int64, ctype: ContentType) {
    self.path = path
    self.sha256 = sha256
    self.size = size
    self.ctype = ctype
  }
}

// What a mirror is made of. Each call reads one state of the database and ends; a version that it names doesn't
// change, so that calls that follow each other agree.
extension Store {
  /// The newest version of a channel and the `keep` releases before it, oldest first; empty without a release.
  package func keptVersions(of channel: ChannelInfo, keep: Int) throws(StoreError) -> [ManifestVersion] {
    try connections.reading { (db) throws(StoreError) in
      try db.all(
        "SELECT version FROM release WHERE channel_id = ? AND version <= ? ORDER BY version DESC LIMIT ?",
        channel.id, channel.version.number, keep + 1
      ) { $0.version(0) }.reversed()
    }
  }

  /// Every resource that a version from `first` to `last` names, each once.
  package func mirroredResources(
    of channel: ChannelInfo, from first: ManifestVersion, through last: ManifestVersion
  ) throws(StoreError) -> [MirroredResource] {
    try connections.reading { (db) throws(StoreError) in
      try db.all(
        """
        SELECT u.text, b.sha256, b.size, t.text, r.version, r.brought_in
        FROM resource AS r
        JOIN url AS u ON u.id = r.url_id
        JOIN blob AS b ON b.id = r.blob_id
        JOIN content_type AS t ON t.id = r.content_type_id
        WHERE r.id IN (
          SELECT e.resource_id FROM bundle AS k JOIN entry AS e ON e.bundle_id = k.id
          WHERE k.channel_id = ?1 AND e.since <= ?3 AND (e.until IS NULL OR e.until > ?2))
        ORDER BY r.id
        """, channel.id, first.number, last.number
      ) { (row) throws(StoreError) in
        let sha256: SHA256 = row.get(1)
        return MirroredResource(
          path: DownloadPath(
            channel: channel.name, appID: channel.appID, manifestVersion: row.version(5),
            resourceVersion: row.get(4), sha256: sha256, url: try Stored.url(row.get(0))),
          sha256: sha256, size: row.get(2), ctype: try Stored.contentType(row.get(3)))
      }
    }
  }

  /// `configure/N.json`: the whole manifest of a kept version, and nothing that another version may say otherwise.
  /// - Throws: `unknownVersion`.
  func wholeDocument(_ channel: ChannelInfo, at version: ManifestVersion) throws(StoreError)
    -> [UInt8]
  {
    try connections.reading { (db) throws(StoreError) in
      guard try db.isKept(version, in: channel.id), version > .none else { throw .unknownVersion(version) }
      var map = ResourceMapWriter(entries: channel.resources)
      try db.eachEntry(of: channel, at: version) { (url, row) throws(StoreError) in
        map.append(url, try row.entry(url, in: channel))
      }
      return Documents.whole(version, map.finish())
    }
  }

  /// `patch/A-N.json`.
  /// - Throws: `unknownVersion`.
  func patchDocument(
    _ channel: ChannelInfo, from base: ManifestVersion, to version: ManifestVersion, extras: AnswerExtras
  ) throws(StoreError) -> [UInt8] {
    guard let digest = try digest(channel, at: version) else { throw .unknownVersion(version) }
    var writer = ManifestPatchWriter()
    let changes = try changes(channel, from: base, to: version)
    for change in changes {
      // A changed entry is written whole.
      writer.append(change.url, now: change.entry)
    }
    let deltas = try DeltaOffers(store: self).render(changes, channel, from: base)
    return Documents.patch(
      version, digest: digest, base: DocumentBase(base, deltas: deltas), writer.finish(), extras: extras)
  }
}
