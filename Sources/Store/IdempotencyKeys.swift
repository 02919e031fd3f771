import System

/// What a sender calls one request, so that a retry is told from a new one.
package struct IdempotencyKey: Hashable, Sendable {
  /// The id of the token that it was sent with.
  package let token: String
  /// What the sender made up.
  package let text: String
  /// sha256 of everything that makes it this request and no other.
  package let request: SHA256

  /// A request by what it was sent with.
  package init(token: String, text: String, request: SHA256) {
    self.token = token
    self.text = text
    self.request = request
  }
}

/// What a request was answered, to be answered again. It holds no secret.
package struct StoredAnswer: Hashable, Sendable {
  /// The HTTP status.
  package let status: Int
  /// JSON.
  package let body: [UInt8]

  /// An answer with this status and body.
  package init(status: Int, body: [UInt8]) {
    self.status = status
    self.body = body
  }
}

/// Has an act keep its answer under the request's key, in its own transaction.
package struct AnswerRecord<Outcome>: Sendable {
  let key: IdempotencyKey
  /// The answer to what the act came to; nil: it was a refusal, which isn't kept.
  let answer: @Sendable (Outcome) -> StoredAnswer?

  /// Has the answer that `answer` makes of the outcome kept under `key`.
  package init(_ key: IdempotencyKey, answer: @escaping @Sendable (Outcome) -> StoredAnswer?) {
    self.key = key
    self.answer = answer
  }
}

/// How long, and how many, answers are kept for retries.
enum AnswerLimits {
  /// Milliseconds: as long as a CI job may be tried again.
  static let age: Int64 = 86_400_000
  /// Of one token, so that nobody fills the database; its oldest go first.
  static let count = 10_000
  /// Bytes of one token's answers.
  static let bytes = 64 << 20
  /// Rows that go at once: enough to keep up, too few to be felt.
  static let step = 100
}

extension Database {
  /// What a request was answered when it was carried out; nil: it wasn't, or too long ago.
  /// - Throws: `requestKeyReused` where the key was another request's.
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
    // The one that it replaces is too old to be answered again.
    try run(
      "INSERT OR REPLACE INTO request_key (token_id, key, request, at, status, answer) VALUES (?, ?, ?, ?, ?, ?)",
      key.token, key.text, key.request, now, answer.status, answer.body)
    try trimAnswers(of: key.token)
  }

  /// Drops a token's oldest answers while it has too many; never the newest, whose act is about to be committed.
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

  /// Drops some of the answers that are too old to be given again.
  func forgetAnswers(now: Int64) throws(StoreError) {
    try run(
      "DELETE FROM request_key WHERE id IN (SELECT id FROM request_key WHERE at <= ? ORDER BY at LIMIT ?)",
      now - AnswerLimits.age, AnswerLimits.step)
  }
}

extension Connections {
  /// Runs an act as one transaction that keeps its answer, too: a crash leaves both or neither.
  /// - Parameters:
  ///   - record: keeps the answer for retries; nil: nobody asked for that.
  ///   - now: milliseconds since 1970.
  ///   - isUrgent: whether it may use the room that is kept for when the disk is full.
  ///   - committed: called after the commit, before anything else can be written.
  /// - Throws: `alreadyDone` where the request was carried out before.
  func transaction<Outcome: Sendable>(
    keeping record: AnswerRecord<Outcome>?, now: Int64, isUrgent: Bool = true,
    then committed: (Outcome) throws(StoreError) -> Void = { _ in },
    _ act: (Database) throws(StoreError) -> Outcome
  ) throws(StoreError) -> Outcome {
    let body = { (db: Database) throws(StoreError) -> Outcome in
      let outcome = try db.write { () throws(StoreError) in
        guard let record else { return try act(db) }
        // A staged release may have been carried out between the look-up and now.
        guard try db.keptAnswer(to: record.key, now: now) == nil else { throw .alreadyDone }
        let outcome = try act(db)
        if let answer = record.answer(outcome) { try db.keep(answer, for: record.key, now: now) }
        return outcome
      }
      try committed(outcome)
      return outcome
    }
    return isUrgent ? try urgently(body) : try writing(body)
  }
}

extension Store {
  /// What a request was answered when it was carried out, at most a day ago; nil: it wasn't.
  /// - Throws: `requestKeyReused` where the key was another request's.
  package func keptAnswer(to key: IdempotencyKey) throws(StoreError) -> StoredAnswer? {
    try connections.reading { (db) throws(StoreError) in try db.keptAnswer(to: key, now: clock()) }
  }
}
