import Manifests
import System

extension Store {
  /// Pins a kept version. Pinning it again replaces the reason.
  /// - Throws: `unknownVersion` if it isn't kept.
  package func pin(
    _ version: ManifestVersion, of channel: ChannelInfo, reason: String, by actor: Actor,
    record: AnswerRecord<Pin>? = nil
  ) throws(StoreError) -> Pin {
    let now = clock()
    let pin = Pin(
      version: version, author: actor.name, reason: reason, at: Moment(milliseconds: now))
    return try connections.transaction(keeping: record, now: now) { (db) throws(StoreError) in
      if version == .none { throw .unknownVersion(version) }
      try db.requireKept(version, in: channel.id)
      try db.run(
        """
        INSERT INTO pin (channel_id, version, at, author, reason) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET at = excluded.at, author = excluded.author, reason = excluded.reason
        """, channel.id, version.number, pin.at, pin.author, reason)
      try db.audit(
        AuditEvent(
          "pin", app: channel.app, channel: channel.name,
          parameters: ["reason": .string(reason), "version": .string(version.text)]), by: actor, now: now)
      return pin
    }
  }

  /// Unpins a version, so that it can be removed like others.
  /// - Throws: `notPinned`.
  package func unpin(
    _ version: ManifestVersion, of channel: ChannelInfo, by actor: Actor, record: AnswerRecord<Void>? = nil
  ) throws(StoreError) {
    try connections.transaction(keeping: record, now: clock()) { (db) throws(StoreError) in
      let reason = try db.value(
        String.self, "DELETE FROM pin WHERE channel_id = ? AND version = ? RETURNING reason", channel.id,
        version.number)
      guard let reason else { throw .notPinned(version) }
      try db.audit(
        AuditEvent(
          "unpin", app: channel.app, channel: channel.name, parameters: ["version": .string(version.text)],
          result: ["reason": .string(reason)]), by: actor, now: clock())
    }
  }

  /// The pinned versions of a channel, oldest first.
  package func pins(of channel: ChannelInfo) throws(StoreError) -> [Pin] {
    try connections.reading { (db) throws(StoreError) in
      try db.all(
        "SELECT version, author, reason, at FROM pin WHERE channel_id = ? ORDER BY version", channel.id
      ) { Pin(version: $0.version(0), author: $0.get(1), reason: $0.get(2), at: $0.get(3)) }
    }
  }
}
