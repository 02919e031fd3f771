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
    try connections.reading { (db) throws(StoreError) in
      try db.first("SELECT a.name FROM default_app AS d JOIN app AS a ON a.id = d.app_id") {
        (row) throws(StoreError) in try Stored.app(row.get(0))
      }
    }
  }

  /// - Throws: `unknownApp`.
  package func setDefaultApp(_ app: AppName, by actor: Actor = .local) throws(StoreError) {
    try connections.writing { (db) throws(StoreError) in
      try db.write { () throws(StoreError) in
        guard let id = try db.appID(app) else { throw .unknownApp(app) }
        try db.run("UPDATE default_app SET app_id = ? WHERE one = 1", id)
        try db.audit(AuditAct("app.default", app: app), by: actor, now: clock())
      }
    }
  }

  /// The bundles of a channel, sorted by name.
  package func bundles(of channel: ChannelInfo) throws(StoreError) -> [BundleInfo] {
    try connections.reading { (db) throws(StoreError) in try db.bundles(of: channel.id) }
  }
}
