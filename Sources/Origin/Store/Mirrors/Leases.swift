import Manifests
import System

/// Who registers a mirror or holds a lease.
package enum Holder: Sendable {
  /// A run with access to the data folder. It isn't recorded in the audit trail, because it writes only these tables.
  case local
  /// A token, and the address from which it was used.
  case token(AccessToken, address: String)

  /// The owner as rows have it.
  var owner: String {
    switch self {
    case .local: "local"
    case .token(let token, _): token.ownerID
    }
  }

  /// The actor for the audit trail.
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

  /// Whether it may end what belongs to others.
  var isAdmin: Bool { token?.isUnrestrictedAdmin ?? true }
}

extension Database {
  /// Whether a row's owner is a token that is in use, or a local run. Any other row has no owner: tokens are replaced,
  /// and what they held must stay accessible.
  func isInUse(owner: String?, now: Int64) throws(StoreError) -> Bool {
    guard let owner else { return false }
    if owner == Holder.local.owner { return true }
    return try value(
      Int64.self,
      "SELECT EXISTS (SELECT 1 FROM token WHERE id = ? AND revoked_at IS NULL AND coalesce(expires_at > ?, 1))",
      owner, now) == 1
  }
}

/// A reader's lease, during which nothing may be removed (Sources/Origin/Mirror/README.md).
package struct Lease: Hashable, Sendable {
  /// The id with which it is renewed and ended.
  package let id: String
  /// The reader, in words.
  package let holder: String
  /// Milliseconds since 1970.
  package let takenAt: Int64
  /// When it ends unless it is renewed, in milliseconds since 1970.
  package let expiresAt: Int64
}

extension Store {
  /// The seconds for which a lease may be taken or renewed at a time.
  package static let leaseSeconds = 10...3600
  /// The most leases that one token may hold at the same time.
  package static let leasesPerToken = 8
  /// The most milliseconds that a token's lease lasts, however often it is renewed.
  package static let leaseLife: Int64 = 24 * 3_600_000

  /// Takes a lease. It ends after `seconds` unless it is renewed, so that a reader that died doesn't hold it for long.
  /// `record` keeps the answer for retries.
  /// - Throws: `tooManyLeases`, `tooManyActs`; `collectionOverdue` if leases have delayed gc for a day.
  package func acquireLease(
    holder: String, seconds: Int, by requester: Holder = .local, record: AnswerRecord<Lease>? = nil
  ) throws(StoreError) -> Lease {
    let now = clock()
    let lease = Lease(
      id: Hex.encode(Secrets.random(16).span.bytes), holder: holder, takenAt: now,
      expiresAt: now + Int64(seconds) * 1000)
    return try connections.transaction(keeping: record, now: now, isUrgent: false) {
      (db) throws(StoreError) in
      try db.run("DELETE FROM lease WHERE expires_at <= ?", now)
      if requester.token != nil {
        try db.refuseOverdue(now)
        let held =
          try db.value(Int64.self, "SELECT count(*) FROM lease WHERE owner = ?", requester.owner) ?? 0
        guard held < Self.leasesPerToken else { throw .tooManyLeases(Self.leasesPerToken) }
      }
      try db.run(
        "INSERT INTO lease (id, holder, taken_at, expires_at, owner) VALUES (?, ?, ?, ?, ?)", lease.id,
        holder, now, lease.expiresAt, requester.owner)
      guard requester.token != nil else { return lease }
      try db.audit(
        repeated: AuditEvent(
          "lease.take", parameters: ["holder": .string(holder), "seconds": .integer(seconds)],
          result: ["id": .string(lease.id)]), by: requester, isLimited: true, now: now)
      return lease
    }
  }

  /// Extends a lease to `seconds` from now.
  /// - Throws: `unknownLease` if it has ended; `foreignLease`; `leaseTooOld`; `collectionOverdue`.
  package func renewLease(_ id: String, seconds: Int, by requester: Holder = .local) throws(StoreError) {
    let now = clock()
    try connections.transaction { (db) throws(StoreError) in
      let end = now + Int64(seconds) * 1000
      guard let held = try db.lease(id, now: now) else { throw .unknownLease(id) }
      guard requester.isAdmin || held.owner == requester.owner else { throw .foreignLease(id) }
      if held.owner != Holder.local.owner {
        guard end <= held.takenAt + Self.leaseLife else {
          throw .leaseTooOld(hours: Int(Self.leaseLife / 3_600_000))
        }
        try db.refuseOverdue(now)
      }
      try db.run("UPDATE lease SET expires_at = ? WHERE id = ?", end, id)
    }
  }

  /// Ends a lease; it is no error if it has ended already.
  /// - Throws: `foreignLease`.
  package func endLease(_ id: String, by requester: Holder = .local) throws(StoreError) {
    let now = clock()
    try connections.transaction { (db) throws(StoreError) in
      guard let held = try db.lease(id, now: now) else { return }
      guard requester.isAdmin || held.owner == requester.owner else { throw .foreignLease(id) }
      try db.run("DELETE FROM lease WHERE id = ?", id)
      guard requester.token != nil else { return }
      try db.audit(
        repeated: AuditEvent("lease.end", parameters: ["id": .string(id)]), by: requester, isLimited: false,
        now: now)
    }
  }

  /// The current leases. While there is one, nothing that a version names may be removed.
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
  /// The milliseconds by which the clock may be set back while someone reads.
  private static var clockSlack: Int64 { 3_600_000 }

  /// Those who are reading what gc would remove.
  func leaseHolders(now: Int64) throws(StoreError) -> [String] {
    // A lease from the future was taken while the clock was ahead: its reader is gone, or renews it.
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

  /// - Throws: `collectionOverdue`.
  fileprivate func refuseOverdue(_ now: Int64) throws(StoreError) {
    if try collectionWait()?.isOverdue(now) ?? false { throw .collectionOverdue }
  }

  /// Ends the leases of a token that was revoked: nobody else could end or renew them.
  func deleteLeases(of owner: String) throws(StoreError) {
    try run("DELETE FROM lease WHERE owner = ?", owner)
  }

  /// Ends all leases, in a copy of the database that nobody reads.
  func deleteLeases() throws(StoreError) { try run("DELETE FROM lease") }

  fileprivate func lease(_ id: String, now: Int64) throws(StoreError) -> (owner: String?, takenAt: Int64)? {
    try first("SELECT owner, taken_at FROM lease WHERE id = ? AND expires_at > ?", id, now) {
      (owner: $0.get(0, as: String?.self), takenAt: $0.get(1, as: Int64.self))
    }
  }
}

/// Holds a lease while some work is done, and renews it meanwhile.
struct LeaseRenewer {
  private let store: Store
  private let lease: Lease
  private var renewed: UInt64

  /// The seconds that a lease outlives a reader that was killed.
  private static let seconds = 120

  init(_ store: Store, holder: String) throws(StoreError) {
    self.store = store
    lease = try store.acquireLease(holder: holder, seconds: Self.seconds)
    renewed = Clock.monotonicNanoseconds()
  }

  /// Renews the lease if it is due; to be called at least once a minute.
  /// - Throws: `unknownLease` if the lease has ended, so that what was read may be gone.
  mutating func renewIfDue() throws(StoreError) {
    guard Clock.monotonicNanoseconds() - renewed > 20_000_000_000 else { return }
    try store.renewLease(lease.id, seconds: Self.seconds)
    renewed = Clock.monotonicNanoseconds()
  }

  func end() throws(StoreError) { try store.endLease(lease.id) }
}
