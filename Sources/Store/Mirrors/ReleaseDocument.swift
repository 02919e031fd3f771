import Manifests
import System

extension Store {
  /// `release/N.json`: what an origin needs beside the manifest to go on from a kept version (DESIGN §6). It names
  /// no people, messages or tokens.
  /// - Throws: `unknownVersion`.
  func releaseDocument(_ channel: ChannelInfo, at version: ManifestVersion) throws(StoreError)
    -> [UInt8]
  {
    try connections.reading { (db) throws(StoreError) in
      guard var document = try db.releaseMembers(of: channel, version) else { throw .unknownVersion(version) }
      document["app"] = .string(channel.app.text)
      document["appID"] = .integer(channel.appID)
      document["channel"] = .string(channel.name.text)
      document["publicURL"] = .string(channel.publicURL.text)
      document["leastNext"] = .integer(channel.leastNext)
      let raised = try db.raisedNumbers(of: channel)
      if !raised.members.isEmpty { document["leastDocuments"] = .object(raised) }
      document["bundles"] = .array(try db.bundleMembers(of: channel, version))
      // Only of the newest: what older ones had counted is less.
      document["counters"] = .object(version == channel.version ? try db.counters(of: channel) : JSONObject())
      return JSONValue.object(document).canonical
    }
  }
}

extension Database {
  /// The lowest numbers that the next versions of documents may have, where a restore raised them.
  fileprivate func raisedNumbers(of channel: ChannelInfo) throws(StoreError) -> JSONObject {
    JSONObject(
      try all("SELECT name, least_next FROM document_counter WHERE channel_id = ? ORDER BY name", channel.id)
      {
        JSONObject.Member(key: $0.get(0, as: String.self), value: .integer($0.get(1, as: Int64.self)))
      })
  }

  fileprivate func releaseMembers(of channel: ChannelInfo, _ version: ManifestVersion) throws(StoreError)
    -> JSONObject?
  {
    try first(
      """
      SELECT kind, at, digest, added, changed, removed, new_bytes, resources, bytes
      FROM release WHERE channel_id = ? AND version = ?
      """, channel.id, version.number
    ) { row in
      JSONObject([
        .init(key: "version", value: .string(version.text)),
        .init(key: "kind", value: .string(row.get(0, as: String.self))),
        .init(key: "at", value: .integer(row.get(1, as: Int64.self))),
        .init(key: "digest", value: .string(row.get(2, as: SHA256.self).hex)),
        .init(key: "added", value: .integer(row.get(3, as: Int64.self))),
        .init(key: "changed", value: .integer(row.get(4, as: Int64.self))),
        .init(key: "removed", value: .integer(row.get(5, as: Int64.self))),
        .init(key: "newBytes", value: .integer(row.get(6, as: Int64.self))),
        .init(key: "resources", value: .integer(row.get(7, as: Int64.self))),
        .init(key: "bytes", value: .integer(row.get(8, as: Int64.self))),
      ])
    }
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
      let last = try lastChange(of: bundle, upTo: version)
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

  private struct LastChange {
    var version = ManifestVersion.none
    var counts = ChangeCounts()
    var resources = 0
    var bytes: Int64 = 0
  }

  private func lastChange(of bundle: BundleInfo, upTo version: ManifestVersion) throws(StoreError)
    -> LastChange
  {
    let kept = try first(
      """
      SELECT version, added, changed, removed, resources, bytes FROM release_bundle
      WHERE bundle_id = ? AND version <= ? ORDER BY version DESC LIMIT 1
      """, bundle.id, version.number
    ) { row in
      LastChange(
        version: row.version(0),
        counts: ChangeCounts(added: row.get(1), changed: row.get(2), removed: row.get(3)),
        resources: row.get(4), bytes: row.get(5))
    }
    if let kept { return kept }
    // The release is not kept any more; the bundle's own row still tells what it came to.
    guard bundle.version <= version else { return LastChange() }
    return LastChange(version: bundle.version, resources: bundle.resources, bytes: bundle.bytes)
  }

  /// How many resource versions each URL was given, where that is more than its live entry says.
  fileprivate func counters(of channel: ChannelInfo) throws(StoreError) -> JSONObject {
    JSONObject(
      try all(
        """
        SELECT u.text, u.versions FROM url AS u
        WHERE u.channel_id = ?1 AND u.versions > coalesce((SELECT r.version FROM entry AS e
          JOIN resource AS r ON r.id = e.resource_id WHERE e.url_id = u.id AND e.until IS NULL LIMIT 1), 0)
        ORDER BY u.text
        """, channel.id
      ) { row in
        JSONObject.Member(key: row.get(0, as: String.self), value: .integer(row.get(1, as: Int64.self)))
      })
  }
}
