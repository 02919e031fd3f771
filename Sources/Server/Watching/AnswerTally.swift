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
