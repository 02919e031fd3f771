import Manifests

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

extension Store {
  /// Every channel of every app with its freeze, oldest first.
  package func channelStates() throws(StoreError) -> [ChannelState] {
    try connections.reading { (db) throws(StoreError) in
      var states: [ChannelState] = []
      for channel in try db.channels() {
        states.append(ChannelState(channel: channel, freeze: try db.freeze(of: channel.id)))
      }
      return states
    }
  }

  /// The freeze of a channel; nil where it takes releases.
  package func freeze(of channel: ChannelInfo) throws(StoreError) -> ChannelFreeze? {
    try connections.reading { (db) throws(StoreError) in try db.freeze(of: channel.id) }
  }

  /// Makes a channel, and its app where that is missing. One that was removed goes on with its numbers.
  /// - Parameters:
  ///   - committed: called after the commit, before anything else can be written.
  ///   - record: keeps the answer for retries, here and below.
  /// - Throws: `channelExists`, `appNameTaken`.
  package func createChannel(
    _ app: AppName, _ name: ChannelName, publicURL: BaseURL, by actor: Actor,
    committed: (ChannelInfo) -> Void = { _ in }, record: AnswerRecord<ChannelInfo>? = nil
  ) throws(StoreError) -> ChannelInfo {
    try act(committed, record) { (db) throws(StoreError) in
      if try db.channel(app, name) != nil { throw .channelExists(app, name) }
      let known = try db.value(String.self, "SELECT name FROM app WHERE name = ?", app.text)
      if let known, known != app.text { throw .appNameTaken(app, by: try Stored.app(known)) }
      let revived = try db.revive(app, name, publicURL: publicURL)
      let channel =
        if let revived { revived } else { try db.makeChannel(app, name, publicURL: publicURL, now: clock()) }
      try db.audit(
        AuditAct(
          "channel.create", app: app, channel: name, parameters: ["publicURL": .string(publicURL.text)]),
        by: actor, now: clock())
      return channel
    }
  }

  /// Removes a channel that holds nothing any more: nobody is answered for it.
  /// - Throws: `unknownChannel`; `channelHolds` while anything is published in it.
  package func removeChannel(
    _ app: AppName, _ name: ChannelName, by actor: Actor, committed: (ChannelInfo) -> Void = { _ in },
    record: AnswerRecord<ChannelInfo>? = nil
  ) throws(StoreError) -> ChannelInfo {
    try act(committed, record) { (db) throws(StoreError) in
      let channel = try db.required(app, name)
      guard channel.resources == 0 else { throw .channelHolds(app, name, resources: channel.resources) }
      try db.run("DELETE FROM freeze WHERE channel_id = ?", channel.id)
      try db.run("UPDATE channel SET removed_at = ? WHERE id = ?", clock(), channel.id)
      try db.audit(
        AuditAct(
          "channel.remove", app: app, channel: name, result: ["version": .string(channel.version.text)]),
        by: actor, now: clock())
      return channel
    }
  }

  /// From now on the channel refuses releases. Freezing a frozen one tells the new reason.
  package func freezeChannel(
    _ app: AppName, _ name: ChannelName, reason: String, by actor: Actor,
    record: AnswerRecord<ChannelFreeze>? = nil
  ) throws(StoreError) -> ChannelFreeze {
    try act({ _ in }, record) { (db) throws(StoreError) in
      let channel = try db.required(app, name)
      let freeze = ChannelFreeze(author: actor.name, at: clock(), reason: reason)
      try db.run(
        """
        INSERT INTO freeze (channel_id, at, author, reason) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET at = excluded.at, author = excluded.author, reason = excluded.reason
        """, channel.id, freeze.at, freeze.author, freeze.reason)
      try db.audit(
        AuditAct("channel.freeze", app: app, channel: name, parameters: ["reason": .string(reason)]),
        by: actor,
        now: clock())
      return freeze
    }
  }

  /// Lets a frozen channel take releases again.
  /// - Returns: the freeze that is lifted; nil where there was none, and nothing is changed.
  package func thawChannel(
    _ app: AppName, _ name: ChannelName, by actor: Actor, record: AnswerRecord<ChannelFreeze?>? = nil
  ) throws(StoreError) -> ChannelFreeze? {
    try act({ _ in }, record) { (db) throws(StoreError) in
      let channel = try db.required(app, name)
      guard let freeze = try db.freeze(of: channel.id) else { return nil }
      try db.run("DELETE FROM freeze WHERE channel_id = ?", channel.id)
      try db.audit(
        AuditAct("channel.thaw", app: app, channel: name, result: ["reason": .string(freeze.reason)]),
        by: actor,
        now: clock())
      return freeze
    }
  }

  /// One transaction that writes, and what follows it while no other can come between.
  private func act<Result: Sendable>(
    _ committed: (Result) -> Void, _ record: AnswerRecord<Result>?,
    _ body: (Database) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try connections.writing { (db) throws(StoreError) in
      let result = try db.write(keeping: record, now: clock()) { () throws(StoreError) in try body(db) }
      committed(result)
      return result
    }
  }
}

extension Database {
  /// Brings a removed channel back; nil where none of that name was removed.
  fileprivate func revive(_ app: AppName, _ name: ChannelName, publicURL: BaseURL) throws(StoreError)
    -> ChannelInfo?
  {
    let id = try value(
      Int64.self,
      """
      SELECT c.id FROM channel AS c JOIN app AS a ON a.id = c.app_id
      WHERE a.name = ? AND c.name = ? AND c.removed_at IS NOT NULL
      """, app.text, name.text)
    guard let id else { return nil }
    try run(
      "UPDATE channel SET removed_at = NULL, public_url_id = ? WHERE id = ?", try publicURLID(publicURL), id)
    return try required(app, name)
  }
}
