import Manifests
import System

/// A live URL whose bytes are damaged or missing. Publishing its bundle again restores them.
package struct DamagedURL: Hashable, Sendable {
  /// The bytes that it should have.
  package let sha256: SHA256
  /// Its channel's app.
  package let app: String
  /// Its channel.
  package let channel: String
  /// The bundle that holds it.
  package let bundle: String
  /// The URL.
  package let url: String

  /// Creates a damaged URL.
  package init(sha256: SHA256, app: String, channel: String, bundle: String, url: String) {
    (self.sha256, self.app, self.channel, self.bundle, self.url) = (sha256, app, channel, bundle, url)
  }
}

extension Store {
  /// Blobs whose bytes were found damaged or missing and that wait to be sent again; normally none.
  package func damagedBlobs() throws(StoreError) -> [SHA256] {
    try connections.reading { (db) throws(StoreError) in
      try db.all("SELECT sha256 FROM blob WHERE quarantined_at IS NOT NULL ORDER BY sha256") { row in
        row.get(0, as: SHA256.self)
      }
    }
  }

  /// The live URLs that have these bytes.
  package func damagedURLs(of digests: [SHA256]) throws(StoreError) -> [DamagedURL] {
    if digests.isEmpty { return [] }
    return try connections.reading { (db) throws(StoreError) in try db.damagedURLs(of: digests) }
  }
}

extension Database {
  /// The live URLs that have these bytes, sorted by app, channel, bundle and URL.
  func damagedURLs(of digests: [SHA256]) throws(StoreError) -> [DamagedURL] {
    var urls: [DamagedURL] = []
    for sha256 in digests {
      urls += try all(
        """
        SELECT a.name, c.name, n.name, u.text FROM blob AS b
        JOIN resource AS r ON r.blob_id = b.id
        JOIN entry AS e ON e.resource_id = r.id AND e.until IS NULL
        JOIN url AS u ON u.id = e.url_id
        JOIN bundle AS n ON n.id = e.bundle_id
        JOIN channel AS c ON c.id = u.channel_id
        JOIN app AS a ON a.id = c.app_id
        WHERE b.sha256 = ?
        """, sha256
      ) { row in
        DamagedURL(sha256: sha256, app: row.get(0), channel: row.get(1), bundle: row.get(2), url: row.get(3))
      }
    }
    return urls.sorted {
      ($0.app, $0.channel, $0.bundle, $0.url) < ($1.app, $1.channel, $1.bundle, $1.url)
    }
  }
}
