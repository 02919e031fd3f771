import Manifests
import System

/// Who registers a mirror or holds a lease.
package enum Holder: Sendable {
  /// A run with the data folder in hand. What it does isn't in the audit trail, as it writes these tables alone.
  case local
  /// A token, and where it was shown.
  case token(AccessToken, address: String)

  /// As its rows have it.
  var owner: String {
    switch self {
    case .local: "local"
    case .token(let token, _): token.id
    }
  }

  /// For the audit trail.
  var actor: Actor {
    switch self {
    case .local: .local
    case .token(let token, let address): Actor(name: token.name, address: address)
    }
  }

  var token: AccessToken? {
    switch self {
    case .local: nil
    case .token(let token, _): token
    }
  }

  /// Whether it may undo what others hold.
  var isAdmin: Bool { token.map { $0.scope >= .admin && $0.isUnlimited } ?? true }
}

extension Database {
  /// Whether a row's owner is a token that is still in use, or a local run. A row of another one is nobody's: tokens are
  /// replaced, and what they held must not stay out of reach.
  func isInUse(owner: String?, now: Int64) throws(StoreError) -> Bool {
    guard let owner else { return false }
    if owner == Holder.local.owner { return true }
    return try value(
      Int64.self,
      "SELECT EXISTS (SELECT 1 FROM token WHERE id = ? AND revoked_at IS NULL AND coalesce(expires_at > ?, 1))",
      owner, now) == 1
  }
}

/// A reader's claim that nothing be removed while it reads (DESIGN §4).
package struct Lease: Hashable, Sendable {
  /// What it is renewed and ended by.
  package let id: String
  /// Who reads, in words.
  package let holder: String
  /// Milliseconds since 1970.
  package let takenAt: Int64
  /// When it ends unless it is renewed, in milliseconds since 1970.
  package let expiresAt: Int64
}

extension Store {
  /// Seconds for which a lease may be asked for at once; its holder renews it.
  package static let leaseSeconds = 10...3600
  /// Leases of one token that last at the same time.
  package static let leasesPerToken = 8
  /// Milliseconds that a token's lease lasts at most, however often it is renewed.
  package static let leaseLife: Int64 = 24 * 3_600_000

  /// Takes a lease. It ends by itself after `seconds`, so that a reader that died holds nothing for long.
  /// - Parameter record: keeps the answer for retries.
  /// - Throws: `tooManyLeases`.
  package func takeLease(
    holder: String, seconds: Int, by asker: Holder = .local, record: AnswerRecord<Lease>? = nil
  ) throws(StoreError) -> Lease {
    let now = clock()
    let lease = Lease(
      id: Hex.encode(Secrets.random(16).span.bytes), holder: holder, takenAt: now,
      expiresAt: now + Int64(seconds) * 1000)
    return try connections.transaction(keeping: record, now: now, isUrgent: false) {
      (db) throws(StoreError) in
      try db.run("DELETE FROM lease WHERE expires_at <= ?", now)
      if asker.token != nil {
        let held = try db.value(Int64.self, "SELECT count(*) FROM lease WHERE owner = ?", asker.owner) ?? 0
        guard held < Self.leasesPerToken else { throw .tooManyLeases(Self.leasesPerToken) }
      }
      try db.run(
        "INSERT INTO lease (id, holder, taken_at, expires_at, owner) VALUES (?, ?, ?, ?, ?)", lease.id,
        holder, now, lease.expiresAt, asker.owner)
      guard asker.token != nil else { return lease }
      try db.audit(
        AuditAct(
          "lease.take", parameters: ["holder": .string(holder), "seconds": .integer(seconds)],
          result: ["id": .string(lease.id)]), by: asker.actor, now: now)
      return lease
    }
  }

  /// Lets a lease last `seconds` from now.
  /// - Throws: `unknownLease` where it ended; `foreignLease`; `leaseTooOld`.
  package func renewLease(_ id: String, seconds: Int, by asker: Holder = .local) throws(StoreError) {
    let now = clock()
    try connections.transaction { (db) throws(StoreError) in
      let end = now + Int64(seconds) * 1000
      guard let held = try db.lease(id, now: now) else { throw .unknownLease(id) }
      guard asker.isAdmin || held.owner == asker.owner else { throw .foreignLease(id) }
      if held.owner != Holder.local.owner, end > held.takenAt + Self.leaseLife {
        throw .leaseTooOld(hours: Int(Self.leaseLife / 3_600_000))
      }
      try db.run("UPDATE lease SET expires_at = ? WHERE id = ?", end, id)
    }
  }

  /// Ends a lease; one that ended already is no error.
  /// - Throws: `foreignLease`.
  package func endLease(_ id: String, by asker: Holder = .local) throws(StoreError) {
    let now = clock()
    try connections.transaction { (db) throws(StoreError) in
      guard let held = try db.lease(id, now: now) else { return }
      guard asker.isAdmin || held.owner == asker.owner else { throw .foreignLease(id) }
      try db.run("DELETE FROM lease WHERE id = ?", id)
      guard asker.token != nil else { return }
      try db.audit(AuditAct("lease.end", parameters: ["id": .string(id)]), by: asker.actor, now: now)
    }
  }

  /// The leases that last: while there is one, nothing that a version names may be removed.
  package func leases() throws(StoreError) -> [Lease] {
    let now = clock()
    return try connections.reading { (db) throws(StoreError) in
      try db.all(
        "SELECT id, holder, taken_at, expires_at FROM lease WHERE expires_at > ? ORDER BY taken_at", now
      ) {
        Lease(id: $0.get(0), holder: $0.get(1), takenAt: $0.get(2), expiresAt: $0.get(3))
      }
    }
  }
}

extension Database {
  /// Milliseconds by which the clock may be set back beside a reader.
  private static var clockSlack: Int64 { 3_600_000 }

  /// Who reads just now what gc would remove.
  func leaseHolders(now: Int64) throws(StoreError) -> [String] {
    // One from a time that hasn't come was taken while the clock was ahead: its reader is gone, or renews it.
    try all(
      "SELECT holder FROM lease WHERE expires_at > ?1 AND taken_at <= ?1 + ?2 ORDER BY taken_at", now,
      Self.clockSlack
    ) { $0.get(0) }
  }

  /// - Throws: `leased`.
  func refuseLeased(now: Int64) throws(StoreError) {
    let holders = try leaseHolders(now: now)
    if !holders.isEmpty { throw .leased(by: holders) }
  }

  /// Ends what a token that ended holds: nobody could end or renew it.
  func deleteLeases(of owner: String) throws(StoreError) {
    try run("DELETE FROM lease WHERE owner = ?", owner)
  }

  /// Ends all, in a copy of which nobody reads.
  func deleteLeases() throws(StoreError) { try run("DELETE FROM lease") }

  fileprivate func lease(_ id: String, now: Int64) throws(StoreError) -> (owner: String?, takenAt: Int64)? {
    try first("SELECT owner, taken_at FROM lease WHERE id = ? AND expires_at > ?", id, now) {
      (owner: $0.get(0, as: String?.self), takenAt: $0.get(1, as: Int64.self))
    }
  }
}

/// Holds a lease for as long as some work takes, renewing it on the way.
struct LeaseRenewer {
  private let store: Store
  private let lease: Lease
  private var renewed: UInt64

  /// Seconds that a lease outlives a reader that was killed.
  private static let seconds = 120

  init(_ store: Store, holder: String) throws(StoreError) {
    self.store = store
    lease = try store.takeLease(holder: holder, seconds: Self.seconds)
    renewed = Clock.monotonicNanoseconds()
  }

  /// Called at least once a minute.
  /// - Throws: `unknownLease` where it ended: what was read may be gone.
  mutating func goOn() throws(StoreError) {
    guard Clock.monotonicNanoseconds() - renewed > 20_000_000_000 else { return }
    try store.renewLease(lease.id, seconds: Self.seconds)
    renewed = Clock.monotonicNanoseconds()
  }

  func end() throws(StoreError) { try store.endLease(lease.id) }
}
