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
    /// Nil if the envelope is damaged.
    let signed: Signed<TrustHead>?
    /// Whether the row says what the envelope does.
    let isRight: Bool

    fileprivate init(_ row: Statement) {
      let (at, key): (Int64, KeyID) = (row.get(0), KeyID(row.get(1)))
      let read = try? Stored.signed(row.get(2), as: TrustHead.self)
      signed = read.flatMap { signed in
        signed.envelope.signatures.contains { $0.key == key } ? signed : nil
      }
      // What devices got counts.
      self.at = signed?.document.at.milliseconds ?? at
      self.key = key
      isRight = signed?.document.at.milliseconds == at
    }
  }

  /// The newest head of a channel.
  func head(of channel: Int64) throws(StoreError) -> HeldHead? {
    try first("SELECT at, key, envelope FROM head WHERE channel_id = ?", channel, read: HeldHead.init)
  }

  /// Puts a head in the place of an older one.
  func set(_ head: Signed<TrustHead>, by key: KeyID, of channel: Int64) throws(StoreError) {
    // The time of a damaged one may be anything.
    if let held = try self.head(of: channel), !held.isRight {
      try run("DELETE FROM head WHERE channel_id = ?", channel)
    }
    try run(
      """
      INSERT INTO head (channel_id, at, key, envelope) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET at = excluded.at, key = excluded.key, envelope = excluded.envelope
      """, channel, head.document.at.milliseconds, key.digest, head.envelope.text)
  }
}
