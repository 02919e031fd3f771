import HTTP
import Platform
import System

extension EventLoop {
  /// Bodies up to this size are copied behind their heads and sent with one call.
  private static let copyLimit = 32_768

  /// Renders an answer; it is sent with the next flush.
  func respond(_ response: Response, to connection: Connection, closing: Bool = false) {
    if closing || response.closes || isDraining { closeAfterAnswers(connection) }
    let announcement = connection.state.announcement(isHTTP11: connection.exchange.isHTTP11)
    let before = outbox.count
    writer.write(response.head, announcement, to: &outbox)
    connection.produced &+= UInt64(outbox.count &- before)
    queueOutbox(connection)
    let hasBody = !connection.exchange.isHead && !response.status.isBodyless
    if hasBody {
      connection.produced &+= response.body.count
      add(response.body, connection)
    }
    if answered.isFull { postpone(connection) }
    answered.add(response.status.code, start: connection.exchange.start, end: connection.produced)
    if log != nil {
      let request = connection.exchange.logged ?? LogRequest(from: connection.peer)
      connection.exchange.logged = nil
      lines.append(AccessLine(request: request, body: hasBody ? response.body.count : 0))
    }
  }

  /// The connection ends by the server's decision, behind the answers so far; its client may be sending more.
  func closeAfterAnswers(_ connection: Connection) {
    connection.state.closeAfterAnswers()
    connection.discarding = nil
    connection.lingers = true
  }

  /// The outbox is sent before the queue; where answers wait in the queue already, new bytes go behind them.
  func queueOutbox(_ connection: Connection) {
    guard !connection.queue.isEmpty else { return }
    connection.queue.append(outbox.address)
    outbox.removeAll()
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

  /// Answers with a status of the server's own, and closes: the rest of the input can't be trusted.
  func refuse(_ connection: Connection, _ status: Status, path: String? = nil) {
    respond(error(status, path: path), to: connection, closing: true)
  }

  /// The answer for a status of the server's own.
  func error(_ status: Status, path: String? = nil, _ fields: [(StaticString, String)] = []) -> Response {
    let body = context.configuration.errorBody(status, path)
    return Response(status, contentType: body.contentType, body.text, fields)
  }

  /// 503, with the word to come again in a moment.
  func overload() -> Response {
    error(.serviceUnavailable, [("Retry-After", "5"), ("Cache-Control", "no-store")])
  }

  /// Answers 408 to a client that is too slow with its head or body.
  func timeOut(_ connection: Connection) {
    if let upload = connection.upload {
      abandon(upload)
      connection.upload = nil
    } else {
      connection.exchange = Exchange(start: now)
      if let parser = connection.partialHead?.parser {
        // Of a copy: a span of the class's own array would outlive the access to it.
        let stash = connection.stash
        connection.exchange.isHead = parser.isHEAD(stash.span.bytes)
        note(parser.head, in: stash.span.bytes, connection)
      }
    }
    connection.state.becomeIdle(now, timeouts)
    if connection.discarding != nil {
      // Its request was answered already, and only its body is slow.
      closeAfterAnswers(connection)
    } else {
      refuse(connection, .requestTimeout)
    }
    proceed(connection)
  }

  /// Ends a connection whose answers are all sent, such that the client can read them.
  func finish(_ connection: Connection) {
    guard !connection.isClosed else { return }
    guard flush(connection), !connection.isClosed else { return }
    let mayHaveMore = connection.lingers || connection.canRead || !connection.stash.isEmpty
    guard mayHaveMore, !connection.inputEnded else { return close(connection) }
    Kernel.shutdownSending(connection.descriptor.raw)
    connection.stash = []
    noteProgress(connection)
    connection.state.linger(now, timeouts)
  }

  /// Ends a connection without a request, of which the last answer may still be on its way.
  func leave(_ connection: Connection) {
    connection.lingers = Kernel.unacknowledged(connection.descriptor.raw) > 0
    finish(connection)
    if !connection.isClosed { schedule(connection) }
  }

  /// Drops what the client still sends; true while there may be more.
  func linger(_ connection: Connection) -> Bool {
    guard connection.canRead else { return false }
    let space = UnsafeMutableRawBufferPointer(rebasing: scratch[..<EventLoop.readSize])
    switch Kernel.receive(connection.descriptor.raw, into: space) {
    case .bytes(let count):
      metrics.bytesIn.add(UInt64(count))
      return true
    case .wouldBlock: connection.canRead = false
    case .end, .broken: close(connection)
    }
    return false
  }

  /// Keeps for the access line what could be read of a head that isn't whole or right.
  func note(_ head: borrowing RequestHead, in bytes: RawSpan, _ connection: Connection) {
    if log != nil { connection.exchange.logged = LogRequest(head, in: bytes, from: connection.peer) }
  }
}
