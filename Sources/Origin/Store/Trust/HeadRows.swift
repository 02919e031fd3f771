import Manifests
import System
import Trust
import Values

// The row of each channel's newest head.
extension Database {
  /// The newest head of a channel, as its row has it.
  struct HeldHead {
    /// When it was signed, in milliseconds since 1970. A newer one of the same key has a higher time.
    let at: Int64
    let key: KeyID
    /// Nil if the row is damaged.
    let signed: Signed<TrustHead>?

    fileprivate init(_ row: Statement) {
      (at, key) = (row.get(0), KeyID(row.get(1)))
      let signed = try? Stored.signed(row.get(2), as: TrustHead.self)
      let (at, key) = (at, key)
      self.signed = signed.flatMap { signed in
        let isWhole =
          signed.document.at.milliseconds == at && signed.envelope.signatures.contains { $0.key == key }
        return isWhole ? signed : nil
      }
    }
  }

  /// The newest head of a channel.
  func head(of channel: Int64) throws(StoreError) -> HeldHead? {
    try first("SELECT at, key, envelope FROM head WHERE channel_id = ?", channel, read: HeldHead.init)
  }

  /// Puts a head in the place of an older one.
  func set(_ head: Signed<TrustHead>, by key: KeyID, of channel: Int64) throws(StoreError) {
    // The time of a damaged one may be anything.
    if let held = try self.head(of: channel), held.signed == nil {
      try run("DELETE FROM head WHERE channel_id = ?", channel)
    }
    try run(
      """
      INSERT INTO head (channel_id, at, key, envelope) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET at = excluded.at, key = excluded.key, envelope = excluded.envelope
      """, channel, head.document.at.milliseconds, key.digest, head.envelope.text)
  }
}
