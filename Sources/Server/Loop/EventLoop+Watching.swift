import HTTP
import System

/// What is counted and written down of answers: when their last byte is with the kernel, or their client is gone.
extension EventLoop {
  /// All answers of a connection are sent, or never will be.
  func conclude(_ connection: Connection) {
    guard answered.count > 0 || !connection.pending.isEmpty else { return }
    let end = Clock.monotonicNanoseconds()
    // In the usual case nothing was postponed and nothing is logged.
    if connection.pending.isEmpty, log == nil { return answered.empty(into: metrics, now: end) }
    answered.empty(into: &connection.pending, &lines)
    count(connection, upTo: .max, end)
  }

  /// Not all of them are: those that are not are kept with the connection.
  func postpone(_ connection: Connection) {
    answered.empty(into: &connection.pending, &lines)
    count(connection, upTo: connection.sent, Clock.monotonicNanoseconds())
  }

  private func count(_ connection: Connection, upTo sent: UInt64, _ end: UInt64) {
    while let answer = connection.pending.next(upTo: sent) {
      let passed = end &- min(answer.start, end)
      metrics.answered(status: answer.status, nanoseconds: passed)
      guard let line = answer.line else { continue }
      log?.add(
        line.request, status: answer.status, bytes: line.bodySent(connection.sent, end: answer.end),
        microseconds: passed / 1000)
      if !isLogScheduled {
        isLogScheduled = true
        deadlines.insert(DeadlineHeap.Entry(time: now &+ LogBuffer.delay, token: Token.log))
      }
    }
  }
}
