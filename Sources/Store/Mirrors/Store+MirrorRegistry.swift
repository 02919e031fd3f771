import Manifests

/// A static copy as its last run registered it.
package struct MirrorRecord: Hashable, Sendable {
  /// Where it is, as its run called it.
  package let name: String
  /// When that run ended, in milliseconds since 1970.
  package let at: Int64
  /// What it names: the kept versions of each channel, which gc leaves alone.
  package let versions: [MirroredVersion]
}

/// A version that a mirror names.
package struct MirroredVersion: Hashable, Sendable {
  package let app: AppName
  package let channel: ChannelName
  package let version: ManifestVersion

  package init(app: AppName, channel: ChannelName, version: ManifestVersion) {
    self.app = app
    self.channel = channel
    self.version = version
  }
}

extension Store {
  /// Notes what a mirror names since its run that ended now; what it named before is forgotten.
  /// - Throws: `unknownApp`, `unknownChannel`.
  package func register(mirror name: String, _ versions: [MirroredVersion]) throws(StoreError) {
    let now = clock()
    try connections.writing { (db) throws(StoreError) in
      try db.write { () throws(StoreError) in
        try db.run(
          "INSERT INTO mirror (name, at) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET at = excluded.at",
          name,
          now)
        let id = try db.value(Int64.self, "SELECT id FROM mirror WHERE name = ?", name) ?? 0
        try db.run("DELETE FROM mirror_version WHERE mirror_id = ?", id)
        for item in versions {
          let channel = try db.required(item.app, item.channel)
          try db.run(
            "INSERT OR IGNORE INTO mirror_version (mirror_id, channel_id, version) VALUES (?, ?, ?)", id,
            channel.id, item.version.number)
        }
      }
    }
  }

  /// Every registered mirror, by name.
  package func mirrors() throws(StoreError) -> [MirrorRecord] {
    try connections.reading { (db) throws(StoreError) in
      let rows = try db.all("SELECT id, name, at FROM mirror ORDER BY name") { row in
        (id: row.get(0, as: Int64.self), name: row.get(1, as: String.self), at: row.get(2, as: Int64.self))
      }
      var mirrors: [MirrorRecord] = []
      for row in rows {
        mirrors.append(MirrorRecord(name: row.name, at: row.at, versions: try db.versions(ofMirror: row.id)))
      }
      return mirrors
    }
  }
}

extension Database {
  fileprivate func versions(ofMirror id: Int64) throws(StoreError) -> [MirroredVersion] {
    try all(
      """
      SELECT a.name, c.name, m.version FROM mirror_version AS m
      JOIN channel AS c ON c.id = m.channel_id JOIN app AS a ON a.id = c.app_id
      WHERE m.mirror_id = ? ORDER BY a.id, c.id, m.version
      """, id
    ) { (row) throws(StoreError) in
      MirroredVersion(
        app: try Stored.app(row.get(0)), channel: try Stored.channel(row.get(1)),
        version: row.version(2))
    }
  }
}
