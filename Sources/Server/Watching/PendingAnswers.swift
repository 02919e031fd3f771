/// The answers that a client hasn't taken whole, in order: they are counted when it has, or is gone.
struct PendingAnswers {
  struct Answer {
    let status: UInt16
    let start: UInt64
    /// How many bytes of the connection's answers there are up to its last.
    let end: UInt64
    /// Where lines are written.
    let line: AccessLine?
  }

  private var answers: [Answer] = []
  private var first = 0

  var isEmpty: Bool { answers.isEmpty }

  mutating func add(status: UInt16, start: UInt64, end: UInt64, _ line: AccessLine?) {
    answers.append(Answer(status: status, start: start, end: end, line: line))
  }

  /// Takes the next one, if it is among the first `sent` bytes.
  mutating func next(upTo sent: UInt64) -> Answer? {
    guard first < answers.count, answers[first].end <= sent else { return nil }
    defer {
      first += 1
      if first == answers.count { self = PendingAnswers() }
    }
    return answers[first]
  }
}

/// What an access line will say of an answer besides its status and its time.
struct AccessLine {
  let request: LogRequest
  /// Bytes of the body.
  let body: UInt64

  /// How many of them are among the first `sent` bytes of a connection on which the body ends with the `end`th.
  func bodySent(_ sent: UInt64, end: UInt64) -> UInt64 {
    body &- min(body, end &- min(sent, end))
  }
}
