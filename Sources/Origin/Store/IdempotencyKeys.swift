import System

/// The sender's name for one request, which tells a retry from a new request.
package struct IdempotencyKey: Hashable, Sendable {
  /// The id of the token with which the request was sent.
  package let token: String
  /// The key, chosen by the sender.
  package let text: String
  /// The SHA-256 of everything that identifies the request.
  package let request: SHA256

  /// Creates the key of a request.
  package init(token: String, text: String, request: SHA256) {
    self.token = token
    self.text = text
    self.request = request
  }
}

/// The answer to a request, kept to be given again. It holds no secret.
package struct StoredAnswer: Hashable, Sendable {
  /// The HTTP status.
  package let status: Int
  /// The body, as JSON.
  package let body: [UInt8]

  /// Creates an answer with this status and body.
  package init(status: Int, body: [UInt8]) {
    self.status = status
    self.body = body
  }
}

/// Makes an act keep its answer under the request's key, or end the scheduled act that it carries out, in the act's own transaction.
package struct AnswerRecord<Outcome>: Sendable {
  /// What tells whether it was carried out.
  enum Target: Sendable {
    case key(IdempotencyKey)
    case schedule(ScheduledRun)
    /// Nothing does: the act is tried, and then undone.
    case trial
  }

  let target: Target
  /// Returns the answer for the act's outcome; nil for a refusal, which isn't kept.
  let answer: @Sendable (Outcome) -> StoredAnswer?

  /// Keeps the answer that `answer` returns for the outcome under `key`.
  package init(_ key: IdempotencyKey, answer: @escaping @Sendable (Outcome) -> StoredAnswer?) {
    target = .key(key)
    self.answer = answer
  }
}

extension AnswerRecord {
  /// Ends a scheduled act with the version that `answer` names.
  package init(_ run: ScheduledRun, answer: @escaping @Sendable (Outcome) -> StoredAnswer?) {
    target = .schedule(run)
    self.answer = answer
  }

  /// Has the act tried as if nobody had to approve it, and all of it undone.
  package static func trial() -> AnswerRecord { AnswerRecord(.trial) }

  private init(_ target: Target) {
    self.target = target
    answer = { _ in nil }
  }

  /// The scheduled act that is carried out; nil for a request.
  var run: ScheduledRun? {
    if case .schedule(let run) = target { run } else { nil }
  }

  /// Whether the act is only tried.
  var isTrial: Bool {
    if case .trial = target { true } else { false }
  }
}

/// How long answers are kept for retries, and how many.
enum AnswerLimits {
  /// Milliseconds, as long as a CI job may be retried.
  static let age: Int64 = 86_400_000
  /// The most answers of one token, so that no token fills the database; the oldest are deleted first.
  static let count = 10_000
  /// The most bytes of one token's answers.
  static let bytes = 64 << 20
  /// Rows deleted at a time: enough to keep up, too few to be noticed.
  static let step = 100
}

extension Database {
  /// The answer that a request got when it was carried out; nil if it wasn't, or was too long ago.
  /// - Throws: `requestKeyReused` if the key belongs to another request.
  func keptAnswer(to key: IdempotencyKey, now: Int64) throws(StoreError) -> StoredAnswer? {
    let kept = try first(
      "SELECT request, status, answer FROM request_key WHERE token_id = ? AND key = ? AND at > ?",
      key.token, key.text, now - AnswerLimits.age
    ) { (request: $0.get(0, as: SHA256.self), answer: StoredAnswer(status: $0.get(1), body: $0.get(2))) }
    guard let kept else { return nil }
    guard kept.request == key.request else { throw .requestKeyReused }
    return kept.answer
  }

  fileprivate func keep(_ answer: StoredAnswer, for key: IdempotencyKey, now: Int64) throws(StoreError) {
    try forgetAnswers(now: now)
    // An answer that this replaces is too old to be given again.
    try run(
      "INSERT OR REPLACE INTO request_key (token_id, key, request, at, status, answer) VALUES (?, ?, ?, ?, ?, ?)",
      key.token, key.text, key.request, now, answer.status, answer.body)
    try trimAnswers(of: key.token)
  }

  /// Deletes a token's oldest answers while it has too many. The newest stays, because its act is about to be committed.
  private func trimAnswers(of token: String) throws(StoreError) {
    while true {
      let (count, bytes) =
        try first("SELECT count(*), sum(length(answer)) FROM request_key WHERE token_id = ?", token) {
          ($0.get(0, as: Int.self), $0.get(1, as: Int.self))
        } ?? (0, 0)
      guard count > 1, count > AnswerLimits.count || bytes > AnswerLimits.bytes else { return }
      try run(
        "DELETE FROM request_key WHERE id IN (SELECT id FROM request_key WHERE token_id = ? ORDER BY id LIMIT ?)",
        token, max(1, count / AnswerLimits.step))
    }
  }

  /// Deletes some of the answers that are too old to be given again.
  func forgetAnswers(now: Int64) throws(StoreError) {
    try run(
      "DELETE FROM request_key WHERE id IN (SELECT id FROM request_key WHERE at <= ? ORDER BY at LIMIT ?)",
      now - AnswerLimits.age, AnswerLimits.step)
  }
}

extension Connections {
  /// Runs an act and keeps its answer in one transaction: a crash leaves both or neither.
  /// - Parameters:
  ///   - record: keeps the answer for retries; nil if it isn't to be kept.
  ///   - now: milliseconds since 1970.
  ///   - isUrgent: whether the act may use the reserve when the disk is full.
  ///   - goesFirst: whether the act doesn't wait for others that wait.
  ///   - committed: called after the commit, before anything else can be written.
  ///   - act: what the transaction does.
  /// - Throws: `alreadyDone` if the request was carried out before; `tokenEnded` for a scheduled act whose token may not be used any more.
  func transaction<Outcome: Sendable>(
    keeping record: AnswerRecord<Outcome>?, now: Int64, isUrgent: Bool = true, goesFirst: Bool = false,
    then committed: (Outcome) throws(StoreError) -> Void = { _ in },
    _ act: (Database) throws(StoreError) -> Outcome
  ) throws(StoreError) -> Outcome {
    if record?.isTrial == true { return try trying(act) }
    let body = { (db: Database) throws(StoreError) -> Outcome in
      let outcome = try db.write { () throws(StoreError) in
        guard let record else { return try act(db) }
        // A staged release may have been carried out since the key was looked up.
        switch record.target {
        case .key(let key):
          guard try db.keptAnswer(to: key, now: now) == nil else { throw .alreadyDone }
        case .schedule(let run): try db.begin(run, now: now)
        case .trial: break
        }
        let outcome = try act(db)
        guard let answer = record.answer(outcome) else { return outcome }
        switch record.target {
        case .key(let key): try db.keep(answer, for: key, now: now)
        case .schedule(let run): try db.finish(run, answer, now: now)
        case .trial: break
        }
        return outcome
      }
      try committed(outcome)
      return outcome
    }
    return isUrgent
      ? try urgently(goesFirst: goesFirst, body) : try writing(goesFirst: goesFirst, body)
  }
}

extension Connections {
  /// Runs an act in a transaction, and undoes it.
  /// - Returns: what would have come of it.
  private func trying<Outcome: Sendable>(_ act: (Database) throws(StoreError) -> Outcome) throws(StoreError)
    -> Outcome
  {
    try writing { (db) throws(StoreError) in
      var outcome: Outcome?
      do throws(StoreError) {
        try db.write { () throws(StoreError) in
          outcome = try act(db)
          // Whatever is thrown undoes it.
          throw .cancelled
        }
      } catch {
        // Nothing was written that receivers could be told of.
        db.hasAnnounced = false
        guard let outcome, case .cancelled = error else { throw error }
        return outcome
      }
      // Never reached: the transaction always throws.
      throw .cancelled
    }
  }
}

extension Store {
  /// The answer that a request got when it was carried out, at most a day ago; nil if it wasn't.
  /// - Throws: `requestKeyReused` if the key belongs to another request.
  package func keptAnswer(to key: IdempotencyKey) throws(StoreError) -> StoredAnswer? {
    try connections.reading { (db) throws(StoreError) in try db.keptAnswer(to: key, now: clock()) }
  }
}
