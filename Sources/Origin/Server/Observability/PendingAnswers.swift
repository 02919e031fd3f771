/// The answers waiting to be sent together, to be counted once they are sent.
struct AnswerTally {
  private var statuses = InlineArray<64, UInt16>(repeating: 0)
  private var starts = InlineArray<64, UInt64>(repeating: 0)
  private var ends = InlineArray<64, UInt64>(repeating: 0)
  private(set) var count = 0

  var isFull: Bool { count == 64 }

  /// Adds an answer whose last byte is the `end`th of its connection; the tally must not be full.
  mutating func add(_ status: UInt16, start: UInt64, end: UInt64) {
    statuses[count] = status
    starts[count] = start
    ends[count] = end
    count &+= 1
  }

  /// Counts all of them: their latency ends now.
  mutating func empty(into metrics: LoopMetrics, now: UInt64) {
    for index in 0..<count {
      metrics.answered(status: statuses[index], nanoseconds: now &- min(starts[index], now))
    }
    count = 0
  }

  /// Moves them to a connection that can't send them completely yet.
  mutating func empty(into pending: inout PendingAnswers, _ lines: inout [AccessLine]) {
    for index in 0..<count {
      let line = index < lines.count ? lines[index] : nil
      pending.add(status: statuses[index], start: starts[index], end: ends[index], line)
    }
    count = 0
    lines.removeAll(keepingCapacity: true)
  }
}

/// The answers that a client hasn't received completely, in order: each is counted once it has, or once the client is gone.
struct PendingAnswers {
  struct Answer {
    let status: UInt16
    let start: UInt64
    /// The number of bytes of the connection's answers up to the end of this one.
    let end: UInt64
    /// Nil if there is no access log.
    let line: AccessLine?
  }

  private var answers: [Answer] = []
  private var first = 0

  var isEmpty: Bool { answers.isEmpty }

  mutating func add(status: UInt16, start: UInt64, end: UInt64, _ line: AccessLine?) {
    answers.append(Answer(status: status, start: start, end: end, line: line))
  }

  /// Removes the next one and returns it, if it ends within the first `sent` bytes.
  mutating func next(upTo sent: UInt64) -> Answer? {
    guard first < answers.count, answers[first].end <= sent else { return nil }
    defer {
      first += 1
      if first == answers.count { self = PendingAnswers() }
    }
    return answers[first]
  }
}

/// What an access line says about an answer besides its status and time.
struct AccessLine {
  let request: LogRequest
  /// The size of the body in bytes.
  let body: UInt64

  /// Returns how many bytes of the body are among the first `sent` of a connection, where the body ends with the `end`th.
  func bodySent(_ sent: UInt64, end: UInt64) -> UInt64 {
    body &- min(body, end &- min(sent, end))
  }
}
