import Manifests
import Platform

extension Database {
  /// - Throws: `unknownApp` or `unknownChannel`.
  func required(_ app: AppName, _ name: ChannelName) throws(StoreError) -> ChannelInfo {
    // The column compares without case; names that differ only in case are not the same name.
    if let channel = try channel(app, name), channel.app == app { return channel }
    let known = try value(String.self, "SELECT name FROM app WHERE name = ?", app.text)
    guard let known else { throw .unknownApp(app) }
    throw known == app.text ? .unknownChannel(app, name) : .appNameTaken(app, by: try Stored.app(known))
  }
}

extension Database {
  fileprivate func defaultApp() throws(StoreError) -> AppName? {
    try first("SELECT a.name FROM default_app AS d JOIN app AS a ON a.id = d.app_id") {
      (row) throws(StoreError) in try Stored.app(row.get(0))
    }
  }
}

extension Store {
  /// Tells this data folder's contents from any other's: publishers keep what they know of an origin under it.
  package func originID() throws(StoreError) -> String {
    try connections.reading { (db) throws(StoreError) in
      try db.value(String.self, "SELECT id FROM origin") ?? ""
    }
  }

  /// Every channel of every app, oldest first.
  package func channels() throws(StoreError) -> [ChannelInfo] {
    try connections.reading { (db) throws(StoreError) in try db.channels() }
  }

  /// A channel as it is now.
  /// - Throws: `unknownApp` or `unknownChannel`.
  package func channel(_ app: AppName, _ name: ChannelName) throws(StoreError) -> ChannelInfo {
    try connections.reading { (db) throws(StoreError) in try db.required(app, name) }
  }

  /// The app that answers polls which name none: the first one made, until another was set.
  package func defaultApp() throws(StoreError) -> AppName? {
    try connections.reading { (db) throws(StoreError) in try db.defaultApp() }
  }

  /// Names the app that answers polls which name none.
  /// - Parameters:
  ///   - committed: called after the commit, before anything else can be written.
  ///   - record: keeps the answer for retries.
  /// - Returns: the one before.
  /// - Throws: `unknownApp`, also for an app without a channel, which would answer nobody; `appNameTaken`.
  @discardableResult
  package func setDefaultApp(
    _ app: AppName, by actor: Actor = .local, committed: () -> Void = {},
    record: AnswerRecord<AppName?>? = nil
  ) throws(StoreError) -> AppName? {
    try connections.writing { (db) throws(StoreError) in
      let before = try db.write(keeping: record, now: clock()) { () throws(StoreError) -> AppName? in
        let known = try db.first(
          """
          SELECT id, name FROM app WHERE name = ?
            AND EXISTS (SELECT 1 FROM channel WHERE app_id = app.id AND removed_at IS NULL)
          """, app.text
        ) { (row) throws(StoreError) in (id: row.get(0, as: Int64.self), name: try Stored.app(row.get(1))) }
        guard let known else { throw .unknownApp(app) }
        guard known.name == app else { throw .appNameTaken(app, by: known.name) }
        let before = try db.defaultApp()
        try db.run("UPDATE default_app SET app_id = ? WHERE one = 1", known.id)
        try db.audit(
          AuditAct(
            "app.default", app: app, result: ["was": before.map { .string($0.text) } ?? .null]),
          by: actor, now: clock())
        return before
      }
      committed()
      return before
    }
  }

  /// The bundles of a channel, sorted by name.
  package func bundles(of channel: ChannelInfo) throws(StoreError) -> [BundleInfo] {
    try connections.reading { (db) throws(StoreError) in try db.bundles(of: channel.id) }
  }
}
