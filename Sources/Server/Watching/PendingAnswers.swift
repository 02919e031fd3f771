/// The answers that wait to be sent together: what is counted of them once they are.
struct AnswerTally {
  private var statuses = InlineArray<64, UInt16>(repeating: 0)
  private var starts = InlineArray<64, UInt64>(repeating: 0)
  private var ends = InlineArray<64, UInt64>(repeating: 0)
  private(set) var count = 0

  var isFull: Bool { count == 64 }

  /// Notes an answer whose last byte is the `end`th of its connection; there is room for it.
  mutating func add(_ status: UInt16, start: UInt64, end: UInt64) {
    statuses[count] = status
    starts[count] = start
    ends[count] = end
    count &+= 1
  }

  /// Counts them all: their latency ends now.
  mutating func empty(into metrics: LoopMetrics, now: UInt64) {
    for index in 0..<count {
      metrics.answered(status: statuses[index], nanoseconds: now &- min(starts[index], now))
    }
    count = 0
  }

  /// Moves them to those of a connection that can't take them whole.
  mutating func empty(into pending: inout PendingAnswers, _ lines: inout [AccessLine]) {
    for index in 0..<count {
      let line = index < lines.count ? lines[index] : nil
      pending.add(status: statuses[index], start: starts[index], end: ends[index], line)
    }
    count = 0
    lines.removeAll(keepingCapacity: true)
  }
}

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
