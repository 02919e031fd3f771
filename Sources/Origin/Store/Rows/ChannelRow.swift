import Manifests
import Values

/// The rows of apps (`app`, `default_app`).
enum AppRow {
  static func id(of app: AppName, in db: Database) throws(StoreError) -> Int64? {
    try db.value(Int64.self, "SELECT id FROM app WHERE name = ?", app.text)
  }

  /// An app's name as stored; the column ignores case.
  static func name(_ app: AppName, in db: Database) throws(StoreError) -> AppName? {
    try db.first("SELECT name FROM app WHERE name = ?", app.text) { (row) throws(StoreError) in
      try Stored.app(row.get(0))
    }
  }

  /// Inserts an app with this id, or with the next one.
  static func insert(_ app: AppName, id: Int64? = nil, now: Int64, in db: Database) throws(StoreError)
    -> Int64
  {
    try db.run("INSERT INTO app (id, name, created_at) VALUES (?, ?, ?)", id, app.text, now)
    let id = db.lastRowID
    // "Without `app` the first app created answers, until an admin names another default."
    try db.run("INSERT INTO default_app (one, app_id) VALUES (1, ?) ON CONFLICT DO NOTHING", id)
    return id
  }

  static func setDefault(_ id: Int64, in db: Database) throws(StoreError) {
    try db.run("UPDATE default_app SET app_id = ? WHERE one = 1", id)
  }
}

/// The rows of channels (`channel`).
enum ChannelRow {
  static func insert(_ name: ChannelName, of app: Int64, publicURL: BaseURL, now: Int64, in db: Database)
    throws(StoreError) -> Int64
  {
    try db.run(
      "INSERT INTO channel (app_id, name, public_url_id, created_at) VALUES (?, ?, ?, ?)", app, name.text,
      try db.publicURLID(publicURL.text), now)
    return db.lastRowID
  }

  /// The id of a removed channel; nil if no channel of that name was removed.
  static func removed(_ app: AppName, _ name: ChannelName, in db: Database) throws(StoreError) -> Int64? {
    try db.value(
      Int64.self,
      """
      SELECT c.id FROM channel AS c JOIN app AS a ON a.id = c.app_id
      WHERE a.name = ? AND c.name = ? AND c.removed_at IS NOT NULL
      """, app.text, name.text)
  }

  static func remove(_ id: Int64, now: Int64, in db: Database) throws(StoreError) {
    try db.run("UPDATE channel SET removed_at = ? WHERE id = ?", now, id)
  }

  /// Its settings continue, but devices report again: an origin behind a shared cache, where `reports` can't be 0, may be the one that
  /// creates it, and couldn't start again.
  static func revive(_ id: Int64, publicURL: BaseURL, in db: Database) throws(StoreError) {
    try db.run(
      "UPDATE channel SET removed_at = NULL, public_url_id = ?, reports = NULLIF(reports, 0) WHERE id = ?",
      try db.publicURLID(publicURL.text), id)
  }

  static func set(_ change: SettingsChange, of id: Int64, in db: Database) throws(StoreError) {
    if let seconds = change.interval {
      try db.run("UPDATE channel SET poll_interval = ? WHERE id = ?", seconds, id)
    }
    if let share = change.reports { try db.run("UPDATE channel SET reports = ? WHERE id = ?", share, id) }
    if let samples = change.samples {
      try db.run("UPDATE channel SET samples = ? WHERE id = ?", samples ? Int?.none : 0, id)
    }
    if let hosts = change.hosts {
      try db.run("UPDATE channel SET hosts = ? WHERE id = ?", Stored.text(of: hosts), id)
    }
  }

  /// Notes the newest known version that a rollback made; a lower one than before changes nothing.
  static func noteRollback(_ version: ManifestVersion, of id: Int64, in db: Database) throws(StoreError) {
    try db.run(
      "UPDATE channel SET rolled_back = ?1 WHERE id = ?2 AND (rolled_back IS NULL OR rolled_back < ?1)",
      version.number, id)
  }

  /// Raises the lowest version that the next release may get.
  static func raiseNext(to version: Int64, of id: Int64, in db: Database) throws(StoreError) {
    try db.run("UPDATE channel SET least_next = ? WHERE id = ?", version, id)
  }

  /// Raises the lowest next version of every channel by a gap above what is known.
  static func leaveGaps(_ size: Int64, in db: Database) throws(StoreError) {
    try db.run(
      """
      UPDATE channel SET least_next = ? + max(least_next - 1,
        (SELECT coalesce(max(version), 0) FROM release WHERE channel_id = channel.id))
      """, size)
  }
}

/// The rows of bundles (`bundle`). A trigger of `release_bundle` maintains what they hold.
enum BundleRow {
  static func insert(_ name: BundleName, of channel: Int64, in db: Database) throws(StoreError) -> Int64 {
    try db.run("INSERT INTO bundle (channel_id, name) VALUES (?, ?)", channel, name.text)
    return db.lastRowID
  }

  static func name(_ id: Int64, in db: Database) throws(StoreError) -> BundleName {
    try Stored.bundle(db.value(String.self, "SELECT name FROM bundle WHERE id = ?", id) ?? "")
  }

  /// Sets at which version a bundle last changed and what it has held since, for one that no kept release changed.
  static func raise(
    _ id: Int64, to version: ManifestVersion, resources: Int, bytes: Int64, in db: Database
  ) throws(StoreError) {
    try db.run(
      "UPDATE bundle SET version = ?, resources = ?, bytes = ? WHERE id = ? AND version < ?", version.number,
      resources, bytes, id, version.number)
  }

  /// Deletes bundles that no other row refers to.
  static func deleteUnneeded(of channel: Int64, in db: Database) throws(StoreError) {
    try db.run(
      """
      DELETE FROM bundle WHERE channel_id = ?1
        AND NOT EXISTS (SELECT 1 FROM release_bundle WHERE bundle_id = bundle.id)
        AND NOT EXISTS (SELECT 1 FROM entry WHERE bundle_id = bundle.id AND until IS NULL)
        AND NOT EXISTS (SELECT 1 FROM entry WHERE bundle_id = bundle.id AND until IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM release_source WHERE bundle_id = bundle.id)
      """, channel)
  }
}
