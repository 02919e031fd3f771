import HTTP
import Platform
import System

/// Moves requests' bodies to their receivers, which live on workers.
extension EventLoop {
  /// Begins to stream a request's body to a receiver.
  func receive(
    _ request: borrowing Request, _ limit: UInt64, _ pool: WorkerPool,
    _ make: @escaping @Sendable () -> any BodyReceiver, _ connection: Connection
  ) {
    guard connection.http.receiveBody(limit: limit, now) else {
      let refusal = error(.contentTooLarge, path: request.path.text)
      return respond(refusal, to: connection, closing: true)
    }
    connection.upload = Upload(receiver: StreamingUpload(make, on: pool))
  }

  /// Reads a body of known length into the chunk itself.
  func readBody(_ connection: Connection, upTo count: Int) {
    let space = UnsafeMutableRawBufferPointer(rebasing: chunk(of: connection).space.prefix(count))
    if let tls = connection.tls { return readBody(connection, tls, into: space) }
    switch Kernel.receive(connection.descriptor.raw, into: space) {
    case .bytes(let count):
      metrics.bytesIn.add(UInt64(count))
      connection.upload?.filling?.filled(count)
      connection.http.receivedBody(count, filled: count == space.count, now)
    case .wouldBlock: connection.http.nothingToRead()
    case .end: connection.http.inputEnded()
    case .broken: close(connection)
    }
  }

  /// Moves bytes of the input into the chunk.
  func store(_ range: Range<Int>, _ connection: Connection) {
    chunk(of: connection).append(UnsafeRawBufferPointer(workspace.input.memory(range)).bytes)
  }

  /// The chunk that is being filled.
  private func chunk(of connection: Connection) -> BodyChunk {
    if let chunk = connection.upload?.filling { return chunk }
    let chunk = BodyChunk(capacity: connection.http.pieceSize)
    connection.upload?.filling = chunk
    return chunk
  }

  /// Gives a worker what has arrived.
  func deliver(_ connection: Connection, last: Bool) {
    guard let upload = connection.upload else { return close(connection) }
    let (receiver, chunk) = (upload.receiver, upload.filling)
    let (token, mailbox) = (connection.token, mailbox)
    let taken = receiver.pool.submit(always: upload.wasBegun) {
      let response = receiver.take(chunk, last: last)
      mailbox.post(.taken(token: token, receiver, response))
    }
    guard taken else {
      // No worker has time, and nothing of the body was used.
      connection.upload = nil
      return respond(overload(), to: connection, closing: true)
    }
    connection.upload = Upload(receiver: receiver, filling: nil, isBusy: true, wasBegun: true)
  }

  /// A worker took a piece of a body; `connection` is nil when its client has gone.
  func takeProgress(of receiver: StreamingUpload, _ response: Response?, _ connection: Connection?) {
    guard let connection, connection.upload?.receiver === receiver else {
      if response == nil { abort(receiver) }
      return
    }
    if let response {
      connection.upload = nil
      respond(response, to: connection)
    } else {
      connection.upload?.isBusy = false
      connection.http.delivered(now)
    }
    drive(connection)
  }

  /// Tells a client that asked to send its body.
  func sendContinue(_ connection: Connection) {
    let interim: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"
    let before = outbox.count
    outbox.append(interim)
    connection.http.wrote(UInt64(interim.utf8CodeUnitCount))
    queueOutbox(from: before, connection)
  }

  /// Answers a body that will not be completed.
  func abandonBody(_ connection: Connection, _ status: Status) {
    abandonUpload(of: connection)
    respond(error(status), to: connection, closing: true)
  }

  /// Lets go of a body that will not be completed.
  func abandonUpload(of connection: Connection) {
    guard let upload = connection.upload else { return }
    connection.upload = nil
    upload.receiver.cancel()
    if !upload.isBusy, upload.wasBegun { abort(upload.receiver) }
  }

  private func abort(_ receiver: StreamingUpload) {
    // A pool that has stopped takes nothing: then the receiver aborts when it is let go of.
    _ = receiver.pool.submit(always: true) { receiver.abort() }
  }
}
