import Manifests
import System
import Trust
import Values

extension Store {
  /// Signs a head for what the channel is now, unless the newest one says just that.
  ///
  /// Every act that changes what a head says signs one in its own transaction, too, so that answers have it from the first on.
  /// - Parameter isDaily: signs also if nothing but the time has changed.
  /// - Returns: whether there is another head than before; false in a channel without a root.
  /// - Throws: `noHeadKey`.
  @discardableResult
  package func renewHead(of channel: Int64, isDaily: Bool = false) throws(StoreError) -> Bool {
    let keys = try headKeyPairs()
    let now = clock()
    // Most often nothing is to be signed, and then nobody has to wait.
    let isDue = try connections.reading { (db) throws(StoreError) in
      try db.nextHead(of: channel, keys, isDaily: isDaily, now: now) != nil
    }
    guard isDue else { return false }
    return try connections.transaction { (db) throws(StoreError) in
      guard let head = try db.nextHead(of: channel, keys, isDaily: isDaily, now: now) else { return false }
      try db.set(head.signed, by: head.key, of: channel)
      return true
    }
  }

  /// Signs a head inside the transaction of an act that changed a channel. Without a key that devices take, they keep the head that they
  /// have until there is one: no act waits for that, least of all the kill switch.
  /// - Returns: why devices don't take what the channel is now; nil if they do.
  @discardableResult
  func renewHead(after channel: ChannelInfo?, in db: Database) throws(StoreError) -> HeadProblem? {
    guard let channel, channel.bundlesSince != nil else { return nil }
    let keys = (try? headKeyPairs()) ?? []
    do throws(StoreError) {
      if let head = try db.nextHead(of: channel.id, keys, isDaily: false, now: clock()) {
        try db.set(head.signed, by: head.key, of: channel.id)
      }
    } catch {
      // Whoever makes an answer tries again, and says what is wrong.
    }
    do throws(StoreError) {
      return try db.headProblem(of: channel.id, keys, now: clock())
    } catch {
      return .behind
    }
  }

  /// Why devices don't take all that a channel is now; nil if they do, or the app has no root, or one that is off.
  package func headProblem(of channel: ChannelInfo) throws(StoreError) -> HeadProblem? {
    guard channel.bundlesSince != nil else { return nil }
    let keys = try headKeyPairs()
    return try connections.reading { (db) throws(StoreError) in
      try db.headProblem(of: channel.id, keys, now: clock())
    }
  }

  /// `head.json`: the envelope of the channel's newest head, in canonical form; nil if there is none that can be read.
  package func headDocument(of channel: ChannelInfo) throws(StoreError) -> [UInt8]? {
    try connections.reading { (db) throws(StoreError) in
      try db.head(of: channel.id)?.signed?.envelope.bytes
    }
  }

  /// Whether the row of the channel's newest head is damaged. Answers are without a head then, until another one is signed.
  package func hasDamagedHead(_ channel: Int64) throws(StoreError) -> Bool {
    try connections.reading { (db) throws(StoreError) in
      if let held = try db.head(of: channel) { !held.isRight } else { false }
    }
  }
}

/// What keeps the newest head of a channel from saying what the channel is.
package enum HeadProblem: String, Sendable {
  /// The origin has none of the keys for heads that the root names.
  case noKey = "no-head-key"
  /// The head couldn't be signed yet.
  case behind
}

extension Database {
  /// - Parameter keys: the origin's keys for heads.
  fileprivate func headProblem(of id: Int64, _ keys: [P256PrivateKey], now: Int64) throws(StoreError)
    -> HeadProblem?
  {
    guard let root = try trust(ofChannel: id)?.root, !root.isOff else { return nil }
    guard keys.contains(where: { root.heads.contains($0.trustKey.id) }) else { return .noKey }
    return try nextHead(of: id, keys, isDaily: false, now: now) == nil ? nil : .behind
  }

  /// How long a head is good, and after which time a daily one takes its place, in milliseconds.
  private static let headAge: (good: Int64, renewed: Int64) = (30 * 86_400_000, 20 * 3_600_000)

  /// The head that takes the place of a channel's newest one; nil if none has to, or the app has no root, or one that is off.
  /// - Parameter keys: the origin's keys for heads, newest first.
  /// - Throws: `noHeadKey` if the root names none of them.
  func nextHead(of id: Int64, _ keys: [P256PrivateKey], isDaily: Bool, now: Int64) throws(StoreError)
    -> (signed: Signed<TrustHead>, key: KeyID)?
  {
    guard let trust = try trust(ofChannel: id), !trust.root.isOff,
      let channel = try channel(trust.root.app, trust.channel), let digest = channel.full.digest
    else { return nil }
    // Times rise as long as devices keep the head that they have.
    let held = try head(of: id).flatMap { trust.root.heads.contains($0.key) ? $0 : nil }
    let isKnown = held.map { isWhole($0, trust.root) } ?? false
    if let held, held.isRight, isKnown, let last = held.signed?.document,
      try composed(channel, trust, digest, at: last.at, until: last.until) == last
    {
      guard isDaily, Self.isDue(last, now: now) else { return nil }
    }
    guard let key = keys.first(where: { trust.root.heads.contains($0.trustKey.id) }) else {
      throw .noHeadKey(trust.root.app)
    }
    // The time of a damaged one may be anything. It is believed as far as clocks are apart.
    let last = held.map { isKnown ? $0.at : min($0.at, now.addingClamped(86_400_000)) }
    let at = max(now, last?.addingClamped(1) ?? 0, 0)
    guard let signedAt = TrustTime(at), let until = TrustTime(max(at, now.addingClamped(Self.headAge.good))),
      let head = try composed(channel, trust, digest, at: signedAt, until: until)
    else { throw .corruptRow("a head of \(at)") }
    do {
      return (try Signed(head).signed(by: key), key.trustKey.id)
    } catch {
      throw .corruptRow("a head: \(error)")
    }
  }

  /// Whether a head has the signature that it says it has.
  private func isWhole(_ held: HeldHead, _ root: TrustRoot) -> Bool {
    let signers = held.signed?.signers(among: [held.key], keys: root.keys, by: RememberingVerifier())
    return signers == [held.key]
  }

  /// Whether a head has to be signed anew for its time alone: devices expect one for less long than they should, or, if it was signed while
  /// the clock was ahead, for so long that they wouldn't notice if there came no more.
  private static func isDue(_ head: TrustHead, now: Int64) -> Bool {
    let left = head.until.milliseconds - now
    if left <= headAge.good - headAge.renewed { return true }
    return left > max(head.at.milliseconds - now, headAge.good) + clockTolerance
  }

  /// How far clocks may be ahead before that is worth a word, in milliseconds.
  static let clockTolerance: Int64 = 5 * 60_000

  /// What a head says of a channel.
  private func composed(
    _ channel: ChannelInfo, _ trust: ChannelTrust, _ digest: SHA256, at: TrustTime, until: TrustTime
  ) throws(StoreError) -> TrustHead? {
    var candidate: TrustHead.Candidate?
    if let rule = channel.rollout?.rule, let digest = channel.digest {
      candidate = TrustHead.Candidate(digest: digest, rule: rule)
    }
    let policy = try newest(.policy, of: channel.id)?.version ?? 0
    let prefetch = try newest(.prefetch, of: channel.id)?.version ?? 0
    return try? TrustHead(
      app: trust.root.app, environment: trust.root.environment, channel: channel.name,
      version: channel.full.version, digest: digest, candidate: candidate, policy: policy, prefetch: prefetch,
      at: at, until: until)
  }
}
