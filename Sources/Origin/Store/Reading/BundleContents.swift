import Manifests
import Values

/// What a bundle holds, complete or as the difference from a version that the client knows.
package struct BundleContents: Sendable {
  /// The bundle's name.
  package let bundle: BundleName
  /// The last version at which the bundle changed; 0 if it never held anything.
  package let version: ManifestVersion
  /// The channel's full version.
  package let channelVersion: ManifestVersion
  /// The version that the entries are the difference from; nil if they are all that the bundle holds.
  package let base: ManifestVersion?
  /// The entries, sorted by URL; nil content: removed since `base`.
  package let entries: [(url: ResourceURL, content: ResourceContent?)]
}

extension Store {
  /// What a bundle holds in the full version; only what changed after `since` if what it held at that version is known.
  package func entries(of bundle: BundleName, in channel: ChannelInfo, since: ManifestVersion? = nil)
    throws(StoreError) -> BundleContents
  {
    try connections.reading { (db) throws(StoreError) in
      let now = try db.required(channel.app, channel.name)
      guard let info = try db.bundle(bundle, of: channel.id) else {
        return BundleContents(
          bundle: bundle, version: .none, channelVersion: now.full.version, base: nil, entries: [])
      }
      if now.rollout != nil, info.version > now.full.version {
        let full = try db.bundle(info, atFull: now.full.version)
        return BundleContents(
          bundle: bundle, version: full.version, channelVersion: now.full.version, base: nil,
          entries: try db.contents(of: info, at: now.full.version).map { ($0, $1) })
      }
      var base: ManifestVersion?
      if let since, since != .none, try db.isKnown(since, for: info, in: channel.id) { base = since }
      let entries =
        if let base { try db.changes(of: info, since: base) } else { try db.liveContents(of: info) }
      return BundleContents(
        bundle: bundle, version: info.version, channelVersion: now.full.version, base: base,
        entries: entries.sorted { $0.url < $1.url })
    }
  }
}

extension Database {
  fileprivate func liveContents(of bundle: BundleInfo) throws(StoreError)
    -> [(url: ResourceURL, content: ResourceContent?)]
  {
    try all(
      """
      SELECT u.text, b.md5, b.sha256, b.size, t.text, t.headers, t.fallback, t.lazy
      FROM entry AS e
      JOIN url AS u ON u.id = e.url_id
      JOIN resource AS r ON r.id = e.resource_id
      JOIN blob AS b ON b.id = r.blob_id
      JOIN content_type AS t ON t.id = r.content_type_id
      WHERE e.bundle_id = ? AND e.until IS NULL
      """, bundle.id
    ) { (row) throws(StoreError) in (try Stored.url(row.get(0)), try ResourceContent(row, from: 1)) }
  }

  /// What a bundle held at a kept version, sorted by URL.
  func contents(of bundle: BundleInfo, at version: ManifestVersion) throws(StoreError)
    -> [(url: ResourceURL, content: ResourceContent)]
  {
    try contents(ofBundle: bundle.id, at: version)
  }

  /// The same for a bundle's id.
  func contents(ofBundle bundle: Int64, at version: ManifestVersion) throws(StoreError)
    -> [(url: ResourceURL, content: ResourceContent)]
  {
    try all(
      """
      SELECT u.text, b.md5, b.sha256, b.size, t.text, t.headers, t.fallback, t.lazy
      FROM entry AS e
      JOIN url AS u ON u.id = e.url_id
      JOIN resource AS r ON r.id = e.resource_id
      JOIN blob AS b ON b.id = r.blob_id
      JOIN content_type AS t ON t.id = r.content_type_id
      WHERE e.bundle_id = ?1 AND e.since <= ?2 AND (e.until IS NULL OR e.until > ?2)
      ORDER BY u.text
      """, bundle, version.number
    ) { (row) throws(StoreError) in (try Stored.url(row.get(0)), try ResourceContent(row, from: 1)) }
  }

  fileprivate func changes(of bundle: BundleInfo, since base: ManifestVersion) throws(StoreError)
    -> [(url: ResourceURL, content: ResourceContent?)]
  {
    var changes: [(url: ResourceURL, content: ResourceContent?)] = []
    for url in try changedURLs(ofBundle: bundle.id, after: base, upTo: bundle.version) {
      let was = try content(ofURL: url, bundle: bundle.id, at: base)
      let now = try content(ofURL: url, bundle: bundle.id, at: bundle.version)
      if was != now { changes.append((try URLRow.url(url, in: self), now)) }
    }
    return changes
  }
}

extension Store {
  /// What each bundle of a channel held at a kept version, or only `bundle`; bundles that held nothing are left out.
  /// - Throws: `unknownVersion`, `unknownBundle`.
  package func contents(of channel: ChannelInfo, at version: ManifestVersion, bundle: BundleName? = nil)
    throws(StoreError) -> [BundleName: [ResourceURL: ResourceContent]]
  {
    try connections.reading { (db) throws(StoreError) in
      if version == .none { throw .unknownVersion(version) }
      try db.requireKept(version, in: channel.id)
      var bundles = try db.bundles(of: channel.id)
      if let bundle {
        bundles.removeAll { $0.name != bundle }
        if bundles.isEmpty { throw .unknownBundle(bundle) }
      }
      var contents: [BundleName: [ResourceURL: ResourceContent]] = [:]
      for info in bundles {
        for (url, content) in try db.contents(of: info, at: version) {
          contents[info.name, default: [:]][url] = content
        }
      }
      return contents
    }
  }
}
