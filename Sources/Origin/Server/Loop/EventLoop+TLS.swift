import HTTP
import Linux
import System
import TLS

/// What differs if the server uses TLS: a session between a connection and its socket.
extension EventLoop {
  /// Continues a connection's handshake.
  func handshake(_ connection: Connection) {
    guard let tls = connection.tls else { return close(connection) }
    switch tls.handshake() {
    case .done(let isResumed):
      metrics.handshakes.add(1)
      if isResumed { metrics.resumed.add(1) }
      connection.http.handshaken(more: tls.mayHaveMore, now)
    case .needsInput: connection.http.nothingToRead()
    case .needsSpace: connection.http.outputIsFull()
    case .budgetSpent: readLater(connection)
    case .plainText:
      metrics.failedHandshakes.add(1)
      connection.tls = nil
      refusePlainText(connection)
    case .failed:
      metrics.failedHandshakes.add(1)
      connection.http.handshakeFailed()
    case .ended:
      metrics.failedHandshakes.add(1)
      close(connection)
    }
  }

  /// Tells a client that sent plain HTTP, in plain HTTP, that this port uses TLS.
  private func refusePlainText(_ connection: Connection) {
    connection.start = now
    connection.http.handshaken(more: true, now)
    let text = "400 Bad Request: this port uses TLS; use https://\n"
    respond(
      Response(.badRequest, contentType: "text/plain; charset=utf-8", text), to: connection, closing: true)
  }

  /// Reads a client's data to where heads are read.
  func read(_ connection: Connection, _ tls: TLSSession, into space: UnsafeMutableRawBufferPointer) {
    // What comes after the last answer is no longer looked at.
    if connection.http.phase == .lingering { return drop(connection, into: space) }
    let received = tls.receive(into: space)
    guard case .bytes(let count) = received else { return readNothing(received, connection) }
    metrics.bytesIn.add(UInt64(count))
    workspace.input.append(count)
    connection.http.received(count, filled: tls.mayHaveMore, now)
  }

  /// Reads a body of known length into its chunk.
  func readBody(_ connection: Connection, _ tls: TLSSession, into space: UnsafeMutableRawBufferPointer) {
    let received = tls.receive(into: space)
    guard case .bytes(let count) = received else { return readNothing(received, connection) }
    metrics.bytesIn.add(UInt64(count))
    connection.upload?.filling?.filled(count)
    connection.http.receivedBody(count, filled: tls.mayHaveMore, now)
  }

  private func readNothing(_ received: TLSSession.Transfer, _ connection: Connection) {
    switch received {
    case .bytes, .needsInput, .needsSpace: connection.http.nothingToRead()
    case .budgetSpent: readLater(connection)
    case .end: connection.http.inputEnded()
    case .broken: close(connection)
    }
  }

  /// Much was read without any application data: reading continues after the others have had their turn.
  private func readLater(_ connection: Connection) {
    connection.http.nothingToRead()
    guard !connection.hasYielded else { return }
    connection.hasYielded = true
    yielded.append(connection.token)
  }

  private func drop(_ connection: Connection, into space: UnsafeMutableRawBufferPointer) {
    switch Kernel.receive(connection.descriptor.raw, into: space) {
    case .bytes(let count):
      workspace.input.append(count)
      connection.http.received(count, filled: count == space.count, now)
    case .wouldBlock: connection.http.nothingToRead()
    case .end: connection.http.inputEnded()
    case .broken: close(connection)
    }
  }

  // MARK: Sending

  /// Sends the outbox and then the queue, record by record; false if the connection's turn is over.
  ///
  /// A record that didn't fit must be retried with the same bytes. So a record always begins at the front of the data to be
  /// sent and takes as much of it as possible.
  func flushRecords(_ connection: Connection, _ tls: TLSSession) -> Bool {
    var first = outbox.address
    var budget = EventLoop.turnSize
    while connection.http.canWrite, budget > 0, first.count > 0 || !connection.queue.isEmpty {
      guard let bytes = nextRecords(connection, first) else {
        close(connection)
        return true
      }
      if bytes.isEmpty {
        // Nothing of a file has been checked yet.
        connection.http.outputIsFull()
        break
      }
      guard let count = sendRecords(bytes, connection, tls) else {
        close(connection)
        return true
      }
      sent(count, connection)
      budget -= count
      let fromFirst = min(count, first.count)
      first = UnsafeRawBufferPointer(rebasing: first[fromFirst...])
      connection.queue.remove(count &- fromFirst)
    }
    connection.queue.prepend(first)
    return budget > 0
  }

  /// Returns the bytes to be sent next, at least one; nil if a file lacks its bytes.
  private func nextRecords(
    _ connection: Connection, _ first: UnsafeRawBufferPointer
  ) -> UnsafeRawBufferPointer? {
    if connection.queue.isEmpty || first.count >= TLSSession.recordSize { return first }
    if first.isEmpty, case .bytes(let bytes, let range) = connection.queue.next,
      range.count >= TLSSession.recordSize
    {
      return UnsafeRawBufferPointer(rebasing: bytes.address[range].prefix(EventLoop.turnSize))
    }
    guard let records else { return nil }
    records.removeAll()
    records.append(first)
    let short = connection.queue.copy(into: records) { sendable($0, upTo: records.space.count, connection) }
    guard let short else { return records.bytes }
    reportMissingBytes(of: short)
    return nil
  }

  /// Sends bytes as records until the socket is full; returns how many were sent, or nil if the connection is gone.
  private func sendRecords(
    _ bytes: UnsafeRawBufferPointer, _ connection: Connection, _ tls: TLSSession
  ) -> Int? {
    var done = 0
    while done < bytes.count {
      let record = UnsafeRawBufferPointer(rebasing: bytes[done...].prefix(TLSSession.recordSize))
      switch tls.send(record, more: done &+ record.count < bytes.count) {
      case .bytes(let count): done &+= count
      case .needsSpace:
        connection.http.outputIsFull()
        return done
      case .end, .needsInput, .budgetSpent, .broken: return nil
      }
    }
    return done
  }
}
