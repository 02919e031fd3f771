import HTTP
import Linux
import System

/// Passes request bodies to their receivers, which run on workers.
extension EventLoop {
  /// Begins to stream a request's body to a receiver.
  func receive(
    _ request: borrowing Request, _ limit: UInt64, _ scheduling: Scheduling,
    _ make: @escaping @Sendable () -> any BodyReceiver, _ connection: Connection
  ) {
    guard connection.http.receiveBody(limit: limit, now) else {
      let refusal = error(.contentTooLarge, path: request.path.text)
      return respond(refusal, to: connection, closing: true)
    }
    connection.upload = Upload(
      receiver: StreamingUpload(make, on: context.lanes[scheduling.lane], for: scheduling.holder))
  }

  /// Reads a body of known length directly into the chunk.
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

  /// Returns the chunk that is being filled.
  private func chunk(of connection: Connection) -> BodyChunk {
    if let chunk = connection.upload?.filling { return chunk }
    let chunk = BodyChunk(capacity: connection.http.pieceSize)
    connection.upload?.filling = chunk
    return chunk
  }

  /// Passes what has arrived to a worker.
  func deliver(_ connection: Connection, last: Bool) {
    guard let upload = connection.upload else { return close(connection) }
    let (receiver, chunk) = (upload.receiver, upload.filling)
    let (token, mailbox) = (connection.token, mailbox)
    let job = WorkerJob(holder: receiver.holder) {
      let response = receiver.consume(chunk, last: last)
      mailbox.post(.consumed(token: token, receiver, response))
    }
    guard submit(job, to: receiver.pool, for: connection, always: upload.wasBegun) else {
      // All workers are busy, and nothing of the body was used.
      connection.upload = nil
      return respond(overload(), to: connection, closing: true)
    }
    connection.upload = Upload(receiver: receiver, filling: nil, isBusy: true, wasBegun: true)
  }

  /// Called when a worker has processed a piece of a body; `connection` is nil if its client has gone.
  func handleProgress(of receiver: StreamingUpload, _ response: Response?, _ connection: Connection?) {
    guard let connection, connection.upload?.receiver === receiver else {
      if response == nil { abort(receiver) }
      return
    }
    connection.work = nil
    if let response {
      connection.upload = nil
      respond(response, to: connection)
    } else {
      connection.upload?.isBusy = false
      connection.http.delivered(now)
    }
    drive(connection)
  }

  /// Tells a client waiting for 100 Continue to send its body.
  func sendContinue(_ connection: Connection) {
    let interim: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"
    let before = outbox.count
    outbox.append(interim)
    connection.http.wrote(UInt64(interim.utf8CodeUnitCount))
    queueOutbox(from: before, connection)
  }

  /// Answers a request whose body won't be completed.
  func abandonBody(_ connection: Connection, _ status: Status) {
    abandonUpload(of: connection)
    respond(error(status), to: connection, closing: true)
  }

  /// Drops a body that won't be completed.
  func abandonUpload(of connection: Connection) {
    guard let upload = connection.upload else { return }
    connection.upload = nil
    upload.receiver.cancel()
    // A piece that no worker has begun with is dropped.
    let wasDropped = connection.work.take().map { $0.pool.cancel($0.job) } ?? false
    if !upload.isBusy || wasDropped, upload.wasBegun { abort(upload.receiver) }
  }

  private func abort(_ receiver: StreamingUpload) {
    // A pool that has stopped takes no jobs: the receiver then aborts when it is deallocated.
    let job = WorkerJob(holder: receiver.holder) { receiver.abort() }
    _ = receiver.pool.submit(job, always: true)
  }
}
