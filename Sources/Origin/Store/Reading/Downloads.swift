import Manifests
import System
import Values

/// The resource that a download URL refers to.
package struct StoredResource: Hashable, Sendable {
  /// The URL of the resource.
  package let url: ResourceURL
  /// Its bytes, type, headers and fallbacks, and whether it is lazy.
  package let content: ResourceContent
  /// The resource version.
  package let version: Int64
  /// Whether the newest manifest names it.
  package let isLive: Bool
}

extension Store {
  /// The resource of any kept version that has this download path; nil if there is none.
  package func resource(at path: DownloadPath) throws(StoreError) -> StoredResource? {
    try connections.reading { (db) throws(StoreError) in
      guard let channel = try db.channelID(app: path.appID, path.channel) else { return nil }
      if let text = path.name.percentDecoded {
        guard let url = try? ResourceURL(text), let id = try URLRow.id(of: url, in: channel, db) else {
          return nil
        }
        return try db.resources(ofURL: id, url, at: path).first
      }
      return try db.resources(uuidOf: path, in: channel).first
    }
  }
}

extension Database {
  fileprivate func channelID(app: Int64, _ name: ChannelName) throws(StoreError) -> Int64? {
    try value(Int64.self, "SELECT id FROM channel WHERE app_id = ? AND name = ?", app, name.text)
  }

  fileprivate func resources(ofURL id: Int64, _ url: ResourceURL, at path: DownloadPath) throws(StoreError)
    -> [StoredResource]
  {
    try all(
      """
      SELECT b.md5, b.sha256, b.size, t.text, t.headers, t.fallback, t.lazy, r.version,
        EXISTS (SELECT 1 FROM entry WHERE url_id = r.url_id AND until IS NULL AND resource_id = r.id)
      FROM resource AS r
      JOIN blob AS b ON b.id = r.blob_id
      JOIN content_type AS t ON t.id = r.content_type_id
      WHERE r.url_id = ? AND r.version = ? AND r.brought_in = ?
      """, id, path.resourceVersion, path.manifestVersion.number
    ) { (row) throws(StoreError) in
      StoredResource(
        url: url, content: try ResourceContent(row, from: 0), version: row.get(7), isLive: row.get(8) != 0)
    }.filter { ResourceUUID($0.content.sha256) == path.uuid }
  }

  /// Finds the resource of a name that is a hash and so doesn't contain the URL: by the bytes, whose first digits are in the UUID.
  fileprivate func resources(uuidOf path: DownloadPath, in channel: Int64) throws(StoreError)
    -> [StoredResource]
  {
    let range = path.uuid.digestRange
    let urls = try all(
      """
      SELECT u.id, u.text FROM blob AS b
      JOIN resource AS r ON r.blob_id = b.id
      JOIN url AS u ON u.id = r.url_id
      WHERE b.sha256 BETWEEN ? AND ? AND r.version = ? AND r.brought_in = ? AND u.channel_id = ?
      """, range.low, range.high, path.resourceVersion, path.manifestVersion.number, channel
    ) { (row) throws(StoreError) in (id: row.get(0, as: Int64.self), url: try Stored.url(row.get(1))) }
    guard let match = urls.first(where: { ResourceFileName($0.url) == path.name }) else { return [] }
    return try resources(ofURL: match.id, match.url, at: path)
  }
}

extension ResourceFileName {
  /// The URL that the name encodes; nil if the name is the hash of a long URL.
  fileprivate var percentDecoded: String? {
    if text.utf8.first == UInt8(ascii: "~") { return nil }
    return PercentEncoding.decode(text.utf8).flatMap { String(validating: $0, as: UTF8.self) }
  }
}

extension ResourceUUID {
  /// The lowest and highest SHA-256 that begin with this UUID's first six bytes, which are the digest's own; the
  /// seventh byte holds the UUID's version.
  fileprivate var digestRange: (low: [UInt8], high: [UInt8]) {
    let first = text.utf8.lazy.filter { $0 != UInt8(ascii: "-") }.prefix(12)
    let bytes = Hex.decode(String(decoding: Array(first), as: UTF8.self), count: 6) ?? []
    let rest = SHA256.byteCount - bytes.count
    return (bytes + [UInt8](repeating: 0, count: rest), bytes + [UInt8](repeating: 0xff, count: rest))
  }
}
