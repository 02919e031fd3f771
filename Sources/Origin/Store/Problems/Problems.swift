import Manifests
import System
import Values

// What needs attention is found by whoever looks. Kept is since when, which each origin knows for itself, and who said that they know,
// which is an act.
extension Store {
  /// The problems that are kept.
  package func problems() throws(StoreError) -> [ProblemRecord] {
    try connections.reading { (db) throws(StoreError) in
      try db.all(
        """
        SELECT p.channel_id, p.code, p.subject, p.severity, p.since, a.author, a.at, a.reason, a.until FROM problem AS p
        LEFT JOIN acknowledgement AS a
          ON a.place = coalesce(p.channel_id, 0) AND a.code = p.code AND a.subject = p.subject
        """
      ) { row in
        let acknowledgement = row.get(5, as: String?.self).map {
          ProblemAcknowledgement(author: $0, at: row.get(6), reason: row.get(7), until: row.get(8))
        }
        return ProblemRecord(
          name: ProblemName(channel: row.get(0, as: Int64?.self), code: row.get(1), subject: row.get(2)),
          severity: ProblemSeverity(rawValue: row.get(3)) ?? .warning, since: row.get(4),
          acknowledgement: acknowledgement)
      }
    }
  }

  /// Keeps problems that began, or are more or less serious now, and forgets those that are over. One that is more serious, or began
  /// later than what is kept of it, isn't acknowledged any more.
  ///
  /// - Parameter waits: false: nothing is written while a release commits, so that no overview waits for that.
  /// - Returns: whether it was written.
  package func keep(problems: [ProblemRecord], over: [ProblemName], waits: Bool) throws(StoreError) -> Bool {
    if !waits, connections.isWriting { return false }
    try connections.transaction { (db) throws(StoreError) in
      for problem in problems { try db.keep(problem) }
      for name in over {
        try db.run(
          "DELETE FROM problem WHERE coalesce(channel_id, 0) = ? AND code = ? AND subject = ?",
          name.channel ?? 0, name.code, name.subject)
        try db.forgetAcknowledgement(of: name)
      }
    }
    return true
  }

  /// Says of a place's problems of one code, as they are now, that they are known. Saying so again replaces what was said.
  /// - Parameters:
  ///   - code: as in the overview.
  ///   - place: the channel; nil: the origin's own.
  ///   - reason: why they need no attention for now.
  ///   - until: when that ends by itself, in milliseconds since 1970.
  ///   - record: keeps the answer for retries.
  /// - Throws: `unknownProblem` if there is none; `unknownApp`, `unknownChannel`.
  package func acknowledgeProblems(
    _ code: String, in place: (app: AppName, channel: ChannelName)?, reason: String, until: Int64,
    by actor: Actor, record: AnswerRecord<ProblemAcknowledgement>? = nil
  ) throws(StoreError) -> ProblemAcknowledgement {
    try connections.transaction(keeping: record, now: clock(), isUrgent: false) { (db) throws(StoreError) in
      let now = clock()
      // It may be over already, if this had to wait for another transaction.
      let at = min(now, until - 1)
      let kept = try db.problems(code, in: place)
      guard !kept.isEmpty else { throw .unknownProblem(code) }
      let acknowledgement = ProblemAcknowledgement(author: actor.name, at: at, reason: reason, until: until)
      for problem in kept {
        try db.run(
          """
          INSERT OR REPLACE INTO acknowledgement (place, code, subject, author, at, reason, until)
          VALUES (?, ?, ?, ?, ?, ?, ?)
          """, problem.name.channel ?? 0, code, problem.name.subject, actor.name, at, reason, until)
      }
      try db.audit(
        AuditEvent(
          "problem.acknowledge", app: place?.app, channel: place?.channel,
          parameters: [
            "code": .string(code), "reason": .string(reason), "until": .string(Timestamp.text(until)),
          ],
          result: ["since": .string(Timestamp.text(kept.map(\.since).min() ?? now))]), by: actor, now: now)
      return acknowledgement
    }
  }

  /// Takes back what was said of a place's problems of one code. If nothing was, nothing is changed.
  /// - Parameter record: keeps the answer for retries.
  /// - Throws: `unknownProblem` if there is none; `unknownApp`, `unknownChannel`.
  package func withdrawAcknowledgement(
    of code: String, in place: (app: AppName, channel: ChannelName)?, by actor: Actor,
    record: AnswerRecord<Void>? = nil
  ) throws(StoreError) {
    try connections.transaction(keeping: record, now: clock(), isUrgent: false) { (db) throws(StoreError) in
      let now = clock()
      let kept = try db.problems(code, in: place)
      guard !kept.isEmpty else { throw .unknownProblem(code) }
      let known = kept.filter { ($0.until ?? .min) > now }
      guard let first = known.first else { return }
      for problem in known { try db.forgetAcknowledgement(of: problem.name) }
      try db.audit(
        AuditEvent(
          "problem.unacknowledge", app: place?.app, channel: place?.channel,
          parameters: ["code": .string(code)],
          result: ["was": .string("\(first.author ?? ""): \(first.reason ?? "")")]), by: actor, now: now)
    }
  }
}

extension Database {
  fileprivate func keep(_ problem: ProblemRecord) throws(StoreError) {
    let name = problem.name
    let known = try first(
      "SELECT id, severity, since FROM problem WHERE coalesce(channel_id, 0) = ? AND code = ? AND subject = ?",
      name.channel ?? 0, name.code, name.subject
    ) {
      (
        id: $0.get(0, as: Int64.self), severity: ProblemSeverity(rawValue: $0.get(1)) ?? .warning,
        since: $0.get(2, as: Int64.self)
      )
    }
    guard let known else {
      return try run(
        "INSERT INTO problem (channel_id, code, subject, severity, since) VALUES (?, ?, ?, ?, ?)",
        name.channel, name.code, name.subject, problem.severity.rawValue, problem.since)
    }
    try run(
      "UPDATE problem SET severity = ?, since = ? WHERE id = ?", problem.severity.rawValue, problem.since,
      known.id)
    // That the one before was over may not have been kept, on a full disk.
    if problem.severity > known.severity || problem.since > known.since {
      try forgetAcknowledgement(of: name)
    }
  }

  fileprivate func forgetAcknowledgement(of name: ProblemName) throws(StoreError) {
    try run(
      "DELETE FROM acknowledgement WHERE place = ? AND code = ? AND subject = ?", name.channel ?? 0,
      name.code,
      name.subject)
  }

  fileprivate func problems(_ code: String, in place: (app: AppName, channel: ChannelName)?)
    throws(StoreError) -> [(name: ProblemName, since: Int64, author: String?, reason: String?, until: Int64?)]
  {
    var channel: Int64 = 0
    if let place { channel = try required(place.app, place.channel).id }
    return try all(
      """
      SELECT p.channel_id, p.subject, p.since, a.author, a.reason, a.until FROM problem AS p
      LEFT JOIN acknowledgement AS a
        ON a.place = coalesce(p.channel_id, 0) AND a.code = p.code AND a.subject = p.subject
      WHERE coalesce(p.channel_id, 0) = ? AND p.code = ? ORDER BY p.id
      """, channel, code
    ) {
      (
        name: ProblemName(channel: $0.get(0, as: Int64?.self), code: code, subject: $0.get(1)),
        since: $0.get(2, as: Int64.self), author: $0.get(3, as: String?.self),
        reason: $0.get(4, as: String?.self), until: $0.get(5, as: Int64?.self)
      )
    }
  }
}
