import System

/// How often a token did an act on a day: what it may repeat as often as it likes must neither fill the audit trail nor
/// keep the origin busy.
struct ActTally: Hashable, Sendable {
  /// Days since 1970.
  private(set) var day: Int64
  /// The acts on that day.
  private(set) var acts: Int64
  /// Acts since the last row of the audit trail, which have none of their own.
  private(set) var unrecorded: Int64
  /// The hour of the last row, in hours since 1970.
  private(set) var recordedIn: Int64

  /// The most acts of one kind on a day. A mirror that runs every minute takes 1,440 leases.
  static let daily: Int64 = 3000
  /// How many acts on a day have a row each; after these there is one row an hour.
  static let withRow: Int64 = 24

  init(day: Int64 = 0, acts: Int64 = 0, unrecorded: Int64 = 0, recordedIn: Int64 = 0) {
    self.day = day
    self.acts = acts
    self.unrecorded = unrecorded
    self.recordedIn = recordedIn
  }

  /// Whether the token has reached the limit of the day; `now` is in milliseconds since 1970.
  func isFull(_ now: Int64) -> Bool { day == now / 86_400_000 && acts >= Self.daily }

  /// Counts an act.
  /// - Returns: the number of acts that its row stands for besides its own; nil if it has no row.
  mutating func count(_ now: Int64) -> Int64? {
    let (today, hour) = (now / 86_400_000, now / 3_600_000)
    if day != today {
      day = today
      acts = 0
    }
    acts += 1
    guard acts <= Self.withRow || hour != recordedIn else {
      unrecorded += 1
      return nil
    }
    defer { unrecorded = 0 }
    recordedIn = hour
    return unrecorded
  }
}

extension Database {
  /// Writes an act that a token may repeat to the audit trail, or counts it into the next row: `unrecorded` of a row is the
  /// number of acts of that kind since the row before.
  /// - Parameter isLimited: whether the act is refused beyond the limit of a day; ending something never is.
  /// - Throws: `tooManyActs`.
  func audit(
    repeated act: AuditEvent, by requester: Holder, isLimited: Bool, now: Int64
  ) throws(StoreError) {
    var tally = try tally(of: act.name, by: requester.owner)
    if isLimited, tally.isFull(now) { throw .tooManyActs(act.name, limit: Int(ActTally.daily)) }
    let others = tally.count(now)
    try run(
      """
      INSERT OR REPLACE INTO act_count (owner, act, day, acts, unrecorded, recorded_in) VALUES (?, ?, ?, ?, ?, ?)
      """, requester.owner, act.name, tally.day, tally.acts, tally.unrecorded, tally.recordedIn)
    guard let others else { return }
    try audit(act.standing(for: others), by: requester.actor, now: now)
  }

  /// Writes the acts that were only counted to the audit trail, one row for each kind: after these nothing of the kind has come
  /// for an hour, or never will, since the token ends.
  /// - Parameter owner: whose acts; nil: of all whose last row is from before the last hour.
  func auditCounted(of owner: String? = nil, now: Int64) throws(StoreError) {
    for row in try countedActs(of: owner, now: now) {
      try audit(
        AuditEvent(row.act).standing(for: row.acts - 1), by: Actor(name: row.name, address: ""), now: now)
      try run("UPDATE act_count SET unrecorded = 0 WHERE owner = ? AND act = ?", row.owner, row.act)
    }
  }

  fileprivate func countedActs(of owner: String?, now: Int64) throws(StoreError)
    -> [(owner: String, act: String, acts: Int64, name: String)]
  {
    try all(
      """
      SELECT c.owner, c.act, c.unrecorded, coalesce(t.name, c.owner)
      FROM act_count AS c LEFT JOIN token AS t ON t.id = c.owner
      WHERE c.unrecorded > 0 AND CASE WHEN ?1 IS NULL THEN c.recorded_in < ?2 ELSE c.owner = ?1 END ORDER BY 1, 2
      """, owner, now / 3_600_000 - 1
    ) { (owner: $0.get(0), act: $0.get(1), acts: $0.get(2), name: $0.get(3)) }
  }

  /// Deletes the counts of tokens that have done nothing of the kind for 90 days, unless acts are still to be recorded.
  func forgetActs(before now: Int64) throws(StoreError) {
    try run("DELETE FROM act_count WHERE day < ? AND unrecorded = 0", now / 86_400_000 - 90)
  }

  private func tally(of act: String, by owner: String) throws(StoreError) -> ActTally {
    try first(
      "SELECT day, acts, unrecorded, recorded_in FROM act_count WHERE owner = ? AND act = ?", owner, act
    ) { ActTally(day: $0.get(0), acts: $0.get(1), unrecorded: $0.get(2), recordedIn: $0.get(3)) }
      ?? ActTally()
  }
}

extension AuditEvent {
  /// The act in a row that stands for others of its kind, too.
  fileprivate func standing(for others: Int64) -> AuditEvent {
    guard others > 0, var members = parameters.object else { return self }
    members["unrecorded"] = .integer(others)
    var act = self
    act.parameters = .object(members)
    return act
  }
}

extension Store {
  /// Writes the acts that were only counted to the audit trail, where no row for them has come for an hour.
  package func auditCountedActs() throws(StoreError) {
    let now = clock()
    let areAny = try connections.reading { (db) throws(StoreError) in
      try !db.countedActs(of: nil, now: now).isEmpty
    }
    guard areAny else { return }
    try connections.transaction { (db) throws(StoreError) in try db.auditCounted(now: now) }
  }
}
