import HTTP
import System

/// Renders answers, and counts them once the kernel has their last byte, or their client is gone.
extension EventLoop {
  /// Bodies up to this size, in bytes, are copied after their heads and sent in one call.
  private static let copyLimit = 32_768

  /// Renders an answer; the next flush sends it.
  func respond(_ response: Response, to connection: Connection, closing: Bool = false) {
    let announcement = connection.http.answer(closing: closing || response.closes, now)
    let before = outbox.count
    writer.write(response.head, announcement, to: &outbox)
    var size = UInt64(outbox.count &- before)
    queueOutbox(from: before, connection)
    let hasBody = !connection.http.isHead && !response.status.isBodyless
    if hasBody {
      size &+= response.body.count
      add(response.body, connection)
    }
    connection.http.wrote(size)
    if answered.isFull { postpone(connection) }
    answered.add(response.status.code, start: connection.start, end: connection.http.produced)
    if log != nil {
      let request = connection.logged ?? LogRequest(from: connection.peer)
      connection.logged = nil
      lines.append(AccessLine(request: request, body: hasBody ? response.body.count : 0))
    }
  }

  /// The outbox is sent before the queue. If something is already in the queue, the bytes from `start` on are moved to its
  /// end; earlier bytes of the outbox stay, since they precede the queue.
  func queueOutbox(from start: Int, _ connection: Connection) {
    guard !connection.queue.isEmpty else { return }
    connection.queue.append(UnsafeRawBufferPointer(rebasing: outbox.address[start...]))
    outbox.truncate(to: start)
  }

  private func add(_ body: Body, _ connection: Connection) {
    switch body {
    case .none: return
    case .bytes(let bytes):
      if bytes.count <= EventLoop.copyLimit, connection.queue.isEmpty {
        outbox.append(bytes)
      } else {
        connection.queue.append(.bytes(bytes, 0..<bytes.count))
      }
    case .pieces(let pieces):
      for bytes in pieces { connection.queue.append(.bytes(bytes, 0..<bytes.count)) }
    case .file(let file): connection.queue.append(.file(file))
    case .segments(let segments): for segment in segments { connection.queue.append(segment) }
    }
  }

  /// Returns the server's own answer for a status.
  func error(_ status: Status, path: String? = nil, _ fields: [(StaticString, String)] = []) -> Response {
    let body = context.configuration.errorBody(status, path)
    return Response(status, contentType: body.contentType, body.text, fields)
  }

  /// Returns a 503 that asks the client to retry soon.
  func overload() -> Response {
    error(.serviceUnavailable, [("Retry-After", "5"), ("Cache-Control", "no-store")])
  }

  // MARK: Counting

  /// Counts all answers of a connection: they have been sent, or never will be.
  func conclude(_ connection: Connection) {
    guard answered.count > 0 || !connection.pending.isEmpty else { return }
    let end = Clock.monotonicNanoseconds()
    // Usually nothing was postponed and there is no access log.
    if connection.pending.isEmpty, log == nil { return answered.empty(into: metrics, now: end) }
    answered.empty(into: &connection.pending, &lines)
    count(connection, upTo: .max, end)
  }

  /// Counts the answers that have been sent and keeps the others with the connection.
  func postpone(_ connection: Connection) {
    answered.empty(into: &connection.pending, &lines)
    count(connection, upTo: connection.http.sent, Clock.monotonicNanoseconds())
  }

  private func count(_ connection: Connection, upTo sent: UInt64, _ end: UInt64) {
    while let answer = connection.pending.next(upTo: sent) {
      let passed = end &- min(answer.start, end)
      metrics.answered(status: answer.status, nanoseconds: passed)
      guard let line = answer.line else { continue }
      log?.add(
        line.request, status: answer.status, bytes: line.bodySent(connection.http.sent, end: answer.end),
        microseconds: passed / 1000)
      if !isLogScheduled {
        isLogScheduled = true
        deadlines.insert(DeadlineHeap.Entry(time: now &+ LogBuffer.delay, token: Token.log))
      }
    }
  }
}
