import Manifests

extension Store {
  /// What each bundle of a channel held at a kept version, or the one named; those that held nothing are left out.
  /// - Throws: `unknownVersion`, `unknownBundle`.
  package func contents(of channel: ChannelInfo, at version: ManifestVersion, bundle: BundleName? = nil)
    throws(StoreError) -> [BundleName: [ResourceURL: ResourceContent]]
  {
    try connections.reading { (db) throws(StoreError) in
      guard version != .none, try db.isKept(version, in: channel.id) else { throw .unknownVersion(version) }
      var bundles = try db.bundles(of: channel.id)
      if let bundle {
        bundles.removeAll { $0.name != bundle }
        if bundles.isEmpty { throw .unknownBundle(bundle) }
      }
      var contents: [BundleName: [ResourceURL: ResourceContent]] = [:]
      for info in bundles {
        try db.each(
          """
          SELECT u.text, b.md5, b.sha256, b.size, t.text
          FROM entry AS e
          JOIN url AS u ON u.id = e.url_id
          JOIN resource AS r ON r.id = e.resource_id
          JOIN blob AS b ON b.id = r.blob_id
          JOIN content_type AS t ON t.id = r.content_type_id
          WHERE e.bundle_id = ?1 AND e.since <= ?2 AND (e.until IS NULL OR e.until > ?2)
          """, info.id, version.number
        ) { (row) throws(StoreError) in
          contents[info.name, default: [:]][try Stored.url(row.get(0))] = try ResourceContent(row, from: 1)
        }
      }
      return contents
    }
  }
}
