import Manifests

/// A freeze of a channel: who froze it, when and why.
package struct ChannelFreeze: Hashable, Sendable {
  /// The name of whoever froze it.
  package let author: String
  /// Milliseconds since 1970.
  package let at: Int64
  /// Why there should be no release.
  package let reason: String
}

/// A new freeze, and the one that it replaces.
package struct ChannelFreezing: Hashable, Sendable {
  /// The new freeze.
  package let freeze: ChannelFreeze
  /// The replaced freeze; nil if the channel wasn't frozen.
  package let replaced: ChannelFreeze?
}

/// A channel and whether it is frozen.
package struct ChannelState: Sendable {
  /// The channel.
  package let channel: ChannelInfo
  /// The freeze; nil if the channel accepts releases.
  package let freeze: ChannelFreeze?

  /// Creates a state of a channel and its freeze.
  package init(channel: ChannelInfo, freeze: ChannelFreeze?) {
    self.channel = channel
    self.freeze = freeze
  }
}

extension Store {
  /// All channels of all apps with their freezes, oldest first.
  package func channelStates() throws(StoreError) -> [ChannelState] {
    try connections.reading { (db) throws(StoreError) in
      var states: [ChannelState] = []
      for channel in try db.channels() {
        states.append(ChannelState(channel: channel, freeze: try db.freeze(of: channel.id)))
      }
      return states
    }
  }

  /// The freeze of a channel; nil if it accepts releases.
  package func freeze(of channel: ChannelInfo) throws(StoreError) -> ChannelFreeze? {
    try connections.reading { (db) throws(StoreError) in try db.freeze(of: channel.id) }
  }

  /// Freezes a channel, so that it refuses releases. Freezing it again replaces the reason. `record` keeps the answer
  /// for retries, here and below.
  package func freezeChannel(
    _ app: AppName, _ name: ChannelName, reason: String, by actor: Actor,
    record: AnswerRecord<ChannelFreezing>? = nil
  ) throws(StoreError) -> ChannelFreezing {
    try connections.transaction(keeping: record, now: clock(), goesFirst: true) { (db) throws(StoreError) in
      let channel = try db.required(app, name)
      let replaced = try db.freeze(of: channel.id)
      let freeze = ChannelFreeze(author: actor.name, at: clock(), reason: reason)
      try db.freeze(channel.id, freeze)
      try db.audit(
        AuditEvent(
          "channel.freeze", app: app, channel: name, parameters: ["reason": .string(reason)],
          result: replaced.map { ["was": .string("\($0.author): \($0.reason)")] } ?? [:]),
        by: actor, now: clock())
      return ChannelFreezing(freeze: freeze, replaced: replaced)
    }
  }

  /// Thaws a frozen channel, so that it accepts releases again.
  /// - Returns: the freeze that was lifted; nil if there was none, and nothing is changed.
  package func thawChannel(
    _ app: AppName, _ name: ChannelName, by actor: Actor, record: AnswerRecord<ChannelFreeze?>? = nil
  ) throws(StoreError) -> ChannelFreeze? {
    try connections.transaction(keeping: record, now: clock(), goesFirst: true) { (db) throws(StoreError) in
      let channel = try db.required(app, name)
      guard let freeze = try db.freeze(of: channel.id) else { return nil }
      try db.thaw(channel.id)
      try db.audit(
        AuditEvent("channel.thaw", app: app, channel: name, result: ["reason": .string(freeze.reason)]),
        by: actor, now: clock())
      return freeze
    }
  }
}

extension Database {
  /// The freeze of a channel; nil if it accepts releases.
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

  /// Deletes the freeze of a channel.
  func thaw(_ channel: Int64) throws(StoreError) {
    try run("DELETE FROM freeze WHERE channel_id = ?", channel)
  }
}
