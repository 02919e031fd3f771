import Manifests
import Values

extension Store {
  /// `release/N.json`: what an origin needs besides the manifest to continue from a kept version. It
  /// contains no names of people, messages or tokens.
  /// - Throws: `unknownVersion`.
  func releaseDocument(_ channel: ChannelInfo, at version: ManifestVersion) throws(StoreError)
    -> [UInt8]
  {
    try connections.reading { (db) throws(StoreError) in
      guard let release = try ReleaseRow.find(version, of: channel.id, in: db) else {
        throw .unknownVersion(version)
      }
      var document = release.members
      document["app"] = .string(channel.app.text)
      document["appID"] = .integer(channel.appID)
      document["channel"] = .string(channel.name.text)
      document["publicURL"] = .string(channel.publicURL.text)
      document["leastNext"] = .integer(channel.leastNext)
      if let since = channel.bundlesSince, version >= since {
        document["bundlesSince"] = .string(since.text)
        // Their statements may be gone; devices know them all the same.
        document["floors"] = .object(try db.floors(of: channel))
      }
      let raised = try db.raisedNumbers(of: channel)
      if !raised.members.isEmpty { document["leastDocuments"] = .object(raised) }
      document["bundles"] = .array(try db.bundleMembers(of: channel, version))
      // Only for the version that all devices follow; older counters are lower.
      document["counters"] = .object(
        version == channel.full.version ? try db.counters(of: channel, at: version) : JSONObject())
      return JSONValue.object(document).canonical
    }
  }
}

extension Database {
  /// The lowest next versions of documents, if a restore raised them.
  fileprivate func raisedNumbers(of channel: ChannelInfo) throws(StoreError) -> JSONObject {
    JSONObject(
      try all("SELECT name, least_next FROM document_counter WHERE channel_id = ? ORDER BY name", channel.id)
      {
        JSONObject.Member(key: $0.get(0, as: String.self), value: .integer($0.get(1, as: Int64.self)))
      })
  }

  /// The lowest serials that devices still take, by bundle; that of prefetch configs has an empty name.
  fileprivate func floors(of channel: ChannelInfo) throws(StoreError) -> JSONObject {
    JSONObject(
      try all("SELECT bundle, floor FROM trust_floor WHERE channel_id = ? ORDER BY bundle", channel.id) {
        JSONObject.Member(key: $0.get(0, as: String.self), value: .integer($0.get(1, as: Int64.self)))
      })
  }

  /// Each bundle that ever held something, with what it held at `version` and the last release that changed it.
  fileprivate func bundleMembers(of channel: ChannelInfo, _ version: ManifestVersion) throws(StoreError)
    -> [JSONValue]
  {
    var members: [JSONValue] = []
    for bundle in try bundles(of: channel.id) {
      let urls = try all(
        """
        SELECT u.text FROM entry AS e JOIN url AS u ON u.id = e.url_id
        WHERE e.bundle_id = ?1 AND e.since <= ?2 AND (e.until IS NULL OR e.until > ?2) ORDER BY u.text
        """, bundle.id, version.number
      ) { $0.get(0, as: String.self) }
      let last = try lastChange(of: bundle, in: channel.id, upTo: version)
      if last.version == .none && urls.isEmpty { continue }
      members.append([
        "added": .integer(last.counts.added), "bytes": .integer(last.bytes),
        "changed": .integer(last.counts.changed), "name": .string(bundle.name.text),
        "removed": .integer(last.counts.removed), "resources": .integer(last.resources),
        "urls": .strings(urls), "version": .string(last.version.text),
      ])
    }
    return members
  }

  private func lastChange(of bundle: BundleInfo, in channel: Int64, upTo version: ManifestVersion)
    throws(StoreError) -> ReleaseBundleRow
  {
    if let kept = try ReleaseBundleRow.last(of: bundle.id, in: channel, upTo: version, self) { return kept }
    // That release is no longer kept, but the bundle's own row still has its totals.
    let isKnown = bundle.version <= version
    return ReleaseBundleRow(
      bundle: bundle.id, version: isKnown ? bundle.version : .none, channel: channel, counts: ChangeCounts(),
      resources: isKnown ? bundle.resources : 0, bytes: isKnown ? bundle.bytes : 0)
  }

  /// The number of resource versions that each URL has had, where it is higher than that of its entry at a version.
  fileprivate func counters(of channel: ChannelInfo, at version: ManifestVersion) throws(StoreError)
    -> JSONObject
  {
    JSONObject(
      try all(
        """
        SELECT u.text, u.versions FROM url AS u
        WHERE u.channel_id = ?1 AND u.versions > coalesce((SELECT r.version FROM entry AS e
          JOIN resource AS r ON r.id = e.resource_id WHERE e.url_id = u.id AND e.since <= ?2
            AND (e.until IS NULL OR e.until > ?2) LIMIT 1), 0)
        ORDER BY u.text
        """, channel.id, version.number
      ) { row in
        JSONObject.Member(key: row.get(0, as: String.self), value: .integer(row.get(1, as: Int64.self)))
      })
  }
}

extension ReleaseRow {
  /// The release's members, without people and their words.
  fileprivate var members: JSONObject {
    JSONObject([
      .init(key: "version", value: .string(version.text)),
      .init(key: "kind", value: .string(kind.rawValue)),
      .init(key: "at", value: .integer(at)),
      .init(key: "digest", value: .string(digest.hex)),
      .init(key: "added", value: .integer(counts.added)),
      .init(key: "changed", value: .integer(counts.changed)),
      .init(key: "removed", value: .integer(counts.removed)),
      .init(key: "newBytes", value: .integer(newBytes)),
      .init(key: "resources", value: .integer(resources)),
      .init(key: "bytes", value: .integer(bytes)),
    ])
  }
}
