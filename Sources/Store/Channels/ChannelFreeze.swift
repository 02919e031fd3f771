import Manifests

/// Who froze a channel, when and why.
package struct ChannelFreeze: Hashable, Sendable {
  /// The name of who did.
  package let author: String
  /// Milliseconds since 1970.
  package let at: Int64
  /// Why no release is to be made.
  package let reason: String
}

/// A freeze, and the one whose place it takes.
package struct ChannelFreezing: Hashable, Sendable {
  /// The one that holds now.
  package let freeze: ChannelFreeze
  /// nil: the channel took releases until then.
  package let replaced: ChannelFreeze?
}

/// A channel and whether it takes releases.
package struct ChannelState: Sendable {
  /// The channel as it is.
  package let channel: ChannelInfo
  /// nil: it takes releases.
  package let freeze: ChannelFreeze?

  /// A channel with its freeze.
  package init(channel: ChannelInfo, freeze: ChannelFreeze?) {
    self.channel = channel
    self.freeze = freeze
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

  /// From now on the channel refuses releases. Freezing a frozen one tells the new reason.
  /// - Parameter record: keeps the answer for retries, here and below.
  package func freezeChannel(
    _ app: AppName, _ name: ChannelName, reason: String, by actor: Actor,
    record: AnswerRecord<ChannelFreezing>? = nil
  ) throws(StoreError) -> ChannelFreezing {
    try connections.transaction(keeping: record, now: clock()) { (db) throws(StoreError) in
      let channel = try db.required(app, name)
      let replaced = try db.freeze(of: channel.id)
      let freeze = ChannelFreeze(author: actor.name, at: clock(), reason: reason)
      try db.freeze(channel.id, freeze)
      try db.audit(
        AuditAct("channel.freeze", app: app, channel: name, parameters: ["reason": .string(reason)]),
        by: actor, now: clock())
      return ChannelFreezing(freeze: freeze, replaced: replaced)
    }
  }

  /// Lets a frozen channel take releases again.
  /// - Returns: the freeze that is lifted; nil where there was none, and nothing is changed.
  package func thawChannel(
    _ app: AppName, _ name: ChannelName, by actor: Actor, record: AnswerRecord<ChannelFreeze?>? = nil
  ) throws(StoreError) -> ChannelFreeze? {
    try connections.transaction(keeping: record, now: clock()) { (db) throws(StoreError) in
      let channel = try db.required(app, name)
      guard let freeze = try db.freeze(of: channel.id) else { return nil }
      try db.thaw(channel.id)
      try db.audit(
        AuditAct("channel.thaw", app: app, channel: name, result: ["reason": .string(freeze.reason)]),
        by: actor, now: clock())
      return freeze
    }
  }
}

extension Database {
  /// The freeze of a channel; nil where it takes releases.
  func freeze(of channel: Int64) throws(StoreError) -> ChannelFreeze? {
    try first("SELECT author, at, reason FROM freeze WHERE channel_id = ?", channel) {
      ChannelFreeze(author: $0.get(0), at: $0.get(1), reason: $0.get(2))
    }
  }

  fileprivate func freeze(_ channel: Int64, _ freeze: ChannelFreeze) throws(StoreError) {
    try run(
      """
      INSERT INTO freeze (channel_id, at, author, reason) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET at = excluded.at, author = excluded.author, reason = excluded.reason
      """, channel, freeze.at, freeze.author, freeze.reason)
  }

  /// Forgets the freeze of a channel.
  func thaw(_ channel: Int64) throws(StoreError) {
    try run("DELETE FROM freeze WHERE channel_id = ?", channel)
  }
}
