import Manifests
import Values

extension Store {
  /// The id that distinguishes this data folder's contents from any other's; publishers cache what they know of an origin under it.
  package func originID() throws(StoreError) -> String {
    try connections.reading { (db) throws(StoreError) in
      try db.value(String.self, "SELECT id FROM origin") ?? ""
    }
  }

  /// All channels of all apps, oldest first.
  package func channels() throws(StoreError) -> [ChannelInfo] {
    try connections.reading { (db) throws(StoreError) in try db.channels() }
  }

  /// The current state of a channel.
  /// - Throws: `unknownApp` or `unknownChannel`.
  package func channel(_ app: AppName, _ name: ChannelName) throws(StoreError) -> ChannelInfo {
    try connections.reading { (db) throws(StoreError) in try db.required(app, name) }
  }

  /// The bundles of a channel, sorted by name.
  package func bundles(of channel: ChannelInfo) throws(StoreError) -> [BundleInfo] {
    try connections.reading { (db) throws(StoreError) in try db.bundles(of: channel.id) }
  }

  /// The app that answers polls that name no app: the first one created, until another is set.
  package func defaultApp() throws(StoreError) -> AppName? {
    try connections.reading { (db) throws(StoreError) in try db.defaultApp() }
  }

  /// Sets the app that answers polls that name no app.
  /// - Parameters:
  ///   - app: the new default app.
  ///   - actor: who sets it.
  ///   - committed: called after the commit, before anything else can be written; here and below.
  ///   - record: keeps the answer for retries, here and below.
  /// - Returns: the previous default app.
  /// - Throws: `unknownApp`, also for an app without a channel, which couldn't answer anyone; `appNameTaken`.
  @discardableResult
  package func setDefaultApp(
    _ app: AppName, by actor: Actor = .local, committed: () -> Void = {},
    record: AnswerRecord<AppName?>? = nil
  ) throws(StoreError) -> AppName? {
    try connections.transaction(keeping: record, now: clock(), then: { _ in committed() }) {
      (db) throws(StoreError) -> AppName? in
      let known = try db.first(
        """
        SELECT id, name FROM app WHERE name = ?
          AND EXISTS (SELECT 1 FROM channel WHERE app_id = app.id AND removed_at IS NULL)
        """, app.text
      ) { (row) throws(StoreError) in (id: row.get(0, as: Int64.self), name: try Stored.app(row.get(1))) }
      guard let known else { throw .unknownApp(app) }
      guard known.name == app else { throw .appNameTaken(app, by: known.name) }
      let before = try db.defaultApp()
      try AppRow.setDefault(known.id, in: db)
      try db.audit(
        AuditEvent("app.default", app: app, result: ["was": before.map { .string($0.text) } ?? .null]),
        by: actor, now: clock())
      return before
    }
  }

  /// Creates a channel, and its app if that is missing. A removed channel continues with its version numbers.
  /// - Throws: `channelExists`, `appNameTaken`.
  package func createChannel(
    _ app: AppName, _ name: ChannelName, publicURL: BaseURL, by actor: Actor,
    committed: (ChannelInfo) -> Void = { _ in }, record: AnswerRecord<ChannelInfo>? = nil
  ) throws(StoreError) -> ChannelInfo {
    try connections.transaction(keeping: record, now: clock(), then: { committed($0) }) {
      (db) throws(StoreError) in
      if try db.channel(app, name) != nil { throw .channelExists(app, name) }
      if let known = try AppRow.name(app, in: db), known != app { throw .appNameTaken(app, by: known) }
      let channel: ChannelInfo
      if let removed = try ChannelRow.removed(app, name, in: db) {
        try ChannelRow.revive(removed, publicURL: publicURL, in: db)
        channel = try db.required(app, name)
      } else {
        channel = try db.makeChannel(app, name, publicURL: publicURL, now: clock())
      }
      try db.audit(
        AuditEvent(
          "channel.create", app: app, channel: name, parameters: ["publicURL": .string(publicURL.text)]),
        by: actor, now: clock())
      return channel
    }
  }

  /// Removes an empty channel, so that requests for it are no longer answered.
  /// - Throws: `unknownChannel`; `channelHolds` if anything is published in it.
  package func removeChannel(
    _ app: AppName, _ name: ChannelName, by actor: Actor, committed: (ChannelInfo) -> Void = { _ in },
    record: AnswerRecord<ChannelInfo>? = nil
  ) throws(StoreError) -> ChannelInfo {
    try connections.transaction(keeping: record, now: clock(), then: { committed($0) }) {
      (db) throws(StoreError) in
      let channel = try db.required(app, name)
      if let rollout = channel.rollout { throw .rolloutOpen(app, name, rollout.candidate) }
      guard channel.resources == 0 else { throw .channelHolds(app, name, resources: channel.resources) }
      try db.thaw(channel.id)
      try db.cancelSchedules(of: channel, by: actor, now: clock())
      try ChannelRow.remove(channel.id, now: clock(), in: db)
      try db.audit(
        AuditEvent(
          "channel.remove", app: app, channel: name, result: ["version": .string(channel.version.text)]),
        by: actor, now: clock())
      return channel
    }
  }
}

extension Database {
  fileprivate func defaultApp() throws(StoreError) -> AppName? {
    try first("SELECT a.name FROM default_app AS d JOIN app AS a ON a.id = d.app_id") {
      (row) throws(StoreError) in try Stored.app(row.get(0))
    }
  }

  /// Creates a channel, and its app if that is missing; the first app becomes the default.
  /// - Throws: `channelRemoved` if its rows still exist: only `channel create` may bring it back, not a misspelled name.
  func makeChannel(_ app: AppName, _ name: ChannelName, publicURL: BaseURL?, now: Int64) throws(StoreError)
    -> ChannelInfo
  {
    guard let publicURL else { throw .unknownChannel(app, name) }
    let isRemoved = try value(
      Int64.self,
      "SELECT 1 FROM app AS a JOIN channel AS c ON c.app_id = a.id WHERE a.name = ? AND c.name = ?",
      app.text, name.text)
    if isRemoved != nil { throw .channelRemoved(app, name) }
    let known = try AppRow.id(of: app, in: self)
    let appID = if let known { known } else { try AppRow.insert(app, now: now, in: self) }
    _ = try ChannelRow.insert(name, of: appID, publicURL: publicURL, now: now, in: self)
    guard let made = try channel(app, name) else { throw .unknownChannel(app, name) }
    return made
  }
}
