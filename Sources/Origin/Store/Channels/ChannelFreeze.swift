import Manifests
import System
import Values

/// When a freeze is to begin and to end by itself.
package struct FreezePlan: Hashable, Sendable {
  /// The first moment, in milliseconds since 1970; nil: now.
  package let from: Int64?
  /// The first moment after it, in milliseconds since 1970; nil: when it is lifted.
  package let to: Int64?

  /// The most freezes by calendar that a channel has at a time.
  package static let maxPlanned = 50

  /// Creates a plan.
  package init(from: Int64?, to: Int64?) {
    self.from = from
    self.to = to
  }
}

/// Which freezes a thaw is about.
package enum ThawScope: Hashable, Sendable {
  /// Those that hold now.
  case current
  /// One freeze by calendar, whether or not it has begun.
  case planned(Int64)
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
  /// The freezes by calendar that aren't over, in the order of their beginnings.
  package let planned: [ChannelFreeze]

  /// Creates a state of a channel and its freezes.
  package init(channel: ChannelInfo, freeze: ChannelFreeze?, planned: [ChannelFreeze] = []) {
    self.channel = channel
    self.freeze = freeze
    self.planned = planned
  }
}

extension Store {
  /// All channels of all apps with their freezes, oldest first.
  package func channelStates() throws(StoreError) -> [ChannelState] {
    let now = clock()
    return try connections.reading { (db) throws(StoreError) in
      var states: [ChannelState] = []
      for channel in try db.channels() {
        states.append(
          ChannelState(
            channel: channel, freeze: try db.freeze(of: channel.id, at: now),
            planned: try db.plannedFreezes(of: channel.id, after: now)))
      }
      return states
    }
  }

  /// The freeze of a channel; nil if it accepts releases.
  package func freeze(of channel: ChannelInfo) throws(StoreError) -> ChannelFreeze? {
    try connections.reading { (db) throws(StoreError) in try db.freeze(of: channel.id, at: clock()) }
  }

  /// A channel's freezes by calendar that aren't over, in the order of their beginnings.
  package func plannedFreezes(of channel: ChannelInfo) throws(StoreError) -> [ChannelFreeze] {
    try connections.reading { (db) throws(StoreError) in
      try db.plannedFreezes(of: channel.id, after: clock())
    }
  }

  /// Freezes a channel, so that it refuses releases. Without a plan it holds from now until the channel is thawed, and freezing it
  /// again replaces the reason. Freezes by calendar stand beside each other and beside that one. `record` keeps the answer for
  /// retries, here and below.
  /// - Throws: `freezeOver` for a plan that ends before it begins, or has ended; `tooManyFreezes`.
  package func freezeChannel(
    _ app: AppName, _ name: ChannelName, reason: String, plan: FreezePlan? = nil, by actor: Actor,
    record: AnswerRecord<ChannelFreezing>? = nil
  ) throws(StoreError) -> ChannelFreezing {
    try connections.transaction(keeping: record, now: clock(), goesFirst: true) { (db) throws(StoreError) in
      let channel = try db.required(app, name)
      let now = clock()
      if let plan {
        let freeze = try db.plan(plan, for: channel, by: actor, reason: reason, now: now)
        let event = AuditEvent(
          "channel.freeze", app: app, channel: name,
          parameters: .object(JSONObject([.init(key: "reason", value: .string(reason))] + freeze.times)))
        try db.audit(event, by: actor, now: now)
        return ChannelFreezing(freeze: freeze, replaced: nil)
      }
      let replaced = try db.openFreeze(of: channel.id)
      let freeze = ChannelFreeze(author: actor.name, at: Moment(milliseconds: now), reason: reason)
      try db.freeze(channel.id, freeze)
      try db.audit(
        AuditEvent(
          "channel.freeze", app: app, channel: name, parameters: ["reason": .string(reason)],
          result: replaced.map { ["was": .string("\($0.author): \($0.reason)")] } ?? [:]),
        by: actor, now: now)
      return ChannelFreezing(freeze: freeze, replaced: replaced)
    }
  }

  /// Thaws a frozen channel, so that it accepts releases again, or takes back one freeze by calendar.
  /// - Returns: the freezes that were lifted; none if there was none, and nothing is changed.
  /// - Throws: `unknownFreeze` for a freeze by calendar that isn't the channel's, or is over.
  package func thawChannel(
    _ app: AppName, _ name: ChannelName, _ scope: ThawScope = .current, by actor: Actor,
    record: AnswerRecord<[ChannelFreeze]>? = nil
  ) throws(StoreError) -> [ChannelFreeze] {
    try connections.transaction(keeping: record, now: clock(), goesFirst: true) { (db) throws(StoreError) in
      let channel = try db.required(app, name)
      let now = clock()
      var lifted: [ChannelFreeze] = []
      switch scope {
      case .current:
        if let open = try db.openFreeze(of: channel.id) { lifted.append(open) }
        lifted += try db.plannedFreezes(of: channel.id, after: now).filter { $0.since.milliseconds <= now }
      case .planned(let id):
        lifted = try db.plannedFreezes(of: channel.id, after: now).filter { $0.calendar?.id == id }
        if lifted.isEmpty { throw .unknownFreeze(app, name, id) }
      }
      for freeze in lifted {
        try db.lift(freeze, of: channel.id)
        let event = AuditEvent(
          "channel.thaw", app: app, channel: name,
          result: .object(JSONObject([.init(key: "reason", value: .string(freeze.reason))] + freeze.times)))
        try db.audit(event, by: actor, now: now)
      }
      return lifted
    }
  }
}

extension ChannelFreeze {
  /// Its times, for the audit trail.
  fileprivate var times: [JSONObject.Member] {
    guard let calendar else { return [] }
    return [
      .init(key: "freeze", value: .integer(calendar.id)),
      .init(key: "from", value: .string(Timestamp.text(calendar.from.milliseconds))),
      .init(key: "to", value: calendar.to.map { .string(Timestamp.text($0.milliseconds)) } ?? .null),
    ]
  }

  fileprivate init(planned row: Statement) {
    self.init(
      author: row.get(1), at: row.get(2), reason: row.get(3),
      calendar: Calendar(id: row.get(0), from: row.get(4), to: row.get(5)))
  }
}

extension Database {
  /// The freeze of a channel at a time, in milliseconds since 1970; nil if it accepts releases then. Of several, the one that holds
  /// longest.
  func freeze(of channel: Int64, at now: Int64) throws(StoreError) -> ChannelFreeze? {
    if let open = try openFreeze(of: channel) { return open }
    return try plannedFreeze(of: channel, at: now)
  }

  /// The freeze by calendar that holds at a time, in milliseconds since 1970.
  func plannedFreeze(of channel: Int64, at now: Int64) throws(StoreError) -> ChannelFreeze? {
    try first(
      """
      SELECT id, author, at, reason, starts_at, ends_at FROM planned_freeze
      WHERE channel_id = ?1 AND starts_at <= ?2 AND (ends_at IS NULL OR ends_at > ?2)
      ORDER BY ends_at IS NULL DESC, ends_at DESC, id LIMIT 1
      """, channel, now, read: ChannelFreeze.init(planned:))
  }

  /// The freezes of a channel by calendar that end after a time, in the order of their beginnings.
  func plannedFreezes(of channel: Int64, after now: Int64) throws(StoreError) -> [ChannelFreeze] {
    try all(
      """
      SELECT id, author, at, reason, starts_at, ends_at FROM planned_freeze
      WHERE channel_id = ? AND (ends_at IS NULL OR ends_at > ?) ORDER BY starts_at, id
      """, channel, now, read: ChannelFreeze.init(planned:))
  }

  /// The freeze of a channel that holds until it is thawed.
  fileprivate func openFreeze(of channel: Int64) throws(StoreError) -> ChannelFreeze? {
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

  fileprivate func plan(
    _ plan: FreezePlan, for channel: ChannelInfo, by actor: Actor, reason: String, now: Int64
  ) throws(StoreError) -> ChannelFreeze {
    let from = plan.from ?? now
    if let to = plan.to, to <= max(from, now) { throw .freezeOver(from: from, to: to) }
    // Those that are over are in the audit trail.
    try run("DELETE FROM planned_freeze WHERE channel_id = ? AND ends_at <= ?", channel.id, now)
    guard try plannedFreezes(of: channel.id, after: now).count < FreezePlan.maxPlanned else {
      throw .tooManyFreezes(channel.app, channel.name)
    }
    try run(
      "INSERT INTO planned_freeze (channel_id, starts_at, ends_at, at, author, reason) VALUES (?, ?, ?, ?, ?, ?)",
      channel.id, from, plan.to, now, actor.name, reason)
    return ChannelFreeze(
      author: actor.name, at: Moment(milliseconds: now), reason: reason,
      calendar: ChannelFreeze.Calendar(
        id: lastRowID, from: Moment(milliseconds: from), to: plan.to.map(Moment.init)))
  }

  fileprivate func lift(_ freeze: ChannelFreeze, of channel: Int64) throws(StoreError) {
    if let id = freeze.calendar?.id {
      try run("DELETE FROM planned_freeze WHERE channel_id = ? AND id = ?", channel, id)
    } else {
      try run("DELETE FROM freeze WHERE channel_id = ?", channel)
    }
  }

  /// Deletes all freezes of a channel.
  func thaw(_ channel: Int64) throws(StoreError) {
    try run("DELETE FROM freeze WHERE channel_id = ?", channel)
    try run("DELETE FROM planned_freeze WHERE channel_id = ?", channel)
  }
}
