import HTTP
import Platform
import System

extension EventLoop {
  /// Begins to stream a request's body to a receiver.
  func receive(
    _ request: borrowing Request, _ limit: UInt64, _ pool: WorkerPool,
    _ make: @escaping @Sendable () -> any BodyReceiver, _ connection: Connection
  ) {
    let framing = BodyFraming(request.bodyLength) ?? .length(remaining: 0)
    if let length = framing.knownRemaining, length > limit {
      return refuse(connection, .contentTooLarge, path: request.path.text)
    }
    connection.upload = Upload(UploadReceiver(make, on: pool), framing, limit: limit)
    if request.head.expectsContinue {
      let interim: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"
      outbox.append(interim)
      connection.produced &+= UInt64(interim.utf8CodeUnitCount)
      queueOutbox(connection)
    }
    connection.state.waitForBody(now, timeouts)
  }

  /// Moves what has arrived of a body towards its receiver; true when another step can follow.
  func readBody(_ connection: Connection) -> Bool {
    guard var upload = connection.upload else { return false }
    connection.upload = nil
    let next = fill(&upload, connection)
    guard !connection.isClosed else {
      abandon(upload)
      return false
    }
    if next == .tooLarge || next == .malformed {
      abandon(upload)
      connection.state.becomeIdle(now, timeouts)
      refuse(connection, next == .tooLarge ? .contentTooLarge : .badRequest)
      _ = flush(connection)
      return settle(connection)
    }
    let submitted = submit(&upload, connection)
    connection.upload = upload
    guard submitted else { return refuseUpload(connection) }
    // The worker is behind, or has the last piece: the client is not to blame for the time that takes.
    if upload.isComplete || next == .full { connection.state.wait() }
    return false
  }

  private enum Filled {
    /// All that has arrived is taken.
    case dry
    /// The chunk is full and the worker still busy.
    case full
    case complete, tooLarge, malformed
  }

  private func fill(_ upload: inout Upload, _ connection: Connection) -> Filled {
    while true {
      if case .length(0) = upload.framing { upload.isComplete = true }
      if upload.isComplete { return .complete }
      guard let chunk = upload.chunkWithSpace() else {
        // A full chunk that no worker is in the way of goes out at once.
        guard !upload.isBusy, submit(&upload, connection) else { return .full }
        continue
      }
      if case .length = upload.framing, connection.stash.isEmpty {
        guard readStraight(&upload, chunk, connection) else { return .dry }
        continue
      }
      var filled = unstash(connection)
      if filled == 0 {
        guard let count = read(connection, behind: 0) else { return .dry }
        connection.state.bodyArrived(count, now, timeouts)
        filled = count
      }
      switch decode(&upload, chunk, filled, connection) {
      case .more: continue
      case .complete: return .complete
      case .tooLarge: return .tooLarge
      case .malformed: return .malformed
      }
    }
  }

  /// Reads a body of known length into the chunk itself; false when nothing came.
  private func readStraight(_ upload: inout Upload, _ chunk: BodyChunk, _ connection: Connection) -> Bool {
    guard connection.canRead, !connection.inputEnded, let remaining = upload.framing.knownRemaining else {
      if connection.inputEnded { close(connection) }
      return false
    }
    let size = Int(min(UInt64(chunk.space.count), remaining))
    let space = UnsafeMutableRawBufferPointer(rebasing: chunk.space[..<size])
    switch Kernel.receive(connection.descriptor.raw, into: space) {
    case .bytes(let count):
      // A read that fills its space says nothing about what is left.
      connection.canRead = count == size || connection.peerDone
      metrics.bytesIn.add(UInt64(count))
      chunk.filled(count)
      upload.framing.skip(count)
      connection.state.bodyArrived(count, now, timeouts)
      return upload.count(count)
    case .wouldBlock:
      connection.canRead = false
    case .end, .broken:
      close(connection)
    }
    return false
  }

  private enum Decoded {
    case more, complete, tooLarge, malformed
  }

  /// Takes body bytes out of the first `filled` bytes of the scratch memory, as many as fit the chunk.
  private func decode(
    _ upload: inout Upload, _ chunk: BodyChunk, _ filled: Int, _ connection: Connection
  ) -> Decoded {
    var index = 0
    // Framing takes no space: the window moves on with it, where a fixed one would have what is left copied for each
    // of its bytes.
    while index < filled, !chunk.isFull {
      let window = index..<min(filled, index &+ chunk.space.count)
      let bytes = UnsafeRawBufferPointer(rebasing: scratch[window]).bytes
      var used = 0
      let step = upload.framing.next(bytes, from: &used)
      index &+= used
      switch step {
      case .data(let range):
        guard upload.count(range.count) else { return .tooLarge }
        chunk.append(bytes.extracting(range))
      case .more: continue
      case .end:
        upload.isComplete = true
        stash(connection, index..<filled)
        return .complete
      case .malformed:
        return .malformed
      }
    }
    stash(connection, index..<filled)
    return .more
  }

  /// Gives a worker what has arrived, unless one is busy with this body; false when none can take it.
  private func submit(_ upload: inout Upload, _ connection: Connection) -> Bool {
    guard !upload.isBusy, upload.isComplete || (upload.filling?.count ?? 0) > 0 else { return true }
    let receiver = upload.receiver
    let chunk = upload.filling
    let last = upload.isComplete
    let token = connection.token
    let mailbox = mailbox
    let taken = receiver.pool.submit(always: upload.wasBegun) {
      let response = receiver.take(chunk, last: last)
      mailbox.post(.taken(token: token, receiver, response))
    }
    guard taken else { return false }
    upload.filling = nil
    upload.isBusy = true
    upload.wasBegun = true
    return true
  }

  /// No worker has time: 503, before anything of the body was used.
  private func refuseUpload(_ connection: Connection) -> Bool {
    connection.upload = nil
    connection.state.becomeIdle(now, timeouts)
    respond(overload(), to: connection, closing: true)
    _ = flush(connection)
    return settle(connection)
  }

  /// A worker took a piece of a body; `connection` is nil when its client has gone.
  func takeProgress(of receiver: UploadReceiver, _ response: Response?, _ connection: Connection?) {
    guard let connection, connection.upload?.receiver === receiver else {
      if response == nil { abort(receiver) }
      return
    }
    connection.upload?.isBusy = false
    guard let response else {
      connection.state.waitForBody(now, timeouts)
      return drive(connection)
    }
    // An answer before the end: the rest of the body isn't wanted.
    let isEarly = connection.upload?.isComplete != true
    connection.upload = nil
    connection.state.becomeIdle(now, timeouts)
    respond(response, to: connection, closing: isEarly)
    proceed(connection)
  }

  /// Lets go of a body that will not be completed.
  func abandon(_ upload: Upload) {
    upload.receiver.cancel()
    if !upload.isBusy, upload.wasBegun { abort(upload.receiver) }
  }

  private func abort(_ receiver: UploadReceiver) {
    // A pool that has stopped takes nothing: then the receiver aborts when it is let go of.
    _ = receiver.pool.submit(always: true) { receiver.abort() }
  }

  /// Reads over a body that nobody wants; one that is too long or broken ends the connection, behind its answer.
  func discardBody(_ connection: Connection) -> Bool {
    guard var framing = connection.discarding else { return false }
    var filled = unstash(connection)
    if filled == 0 {
      guard let count = read(connection, behind: 0) else { return false }
      filled = count
    }
    connection.state.bodyArrived(filled, now, timeouts)
    let bytes = UnsafeRawBufferPointer(rebasing: scratch[..<filled]).bytes
    var index = 0
    while true {
      switch framing.next(bytes, from: &index) {
      case .data(let range): connection.discarded &+= UInt64(range.count)
      case .more:
        connection.discarding = framing
        if connection.discarded <= limits.discardedBody { return true }
        return endBehindAnswers(connection)
      case .end(let end):
        connection.discarding = nil
        stash(connection, end..<filled)
        connection.state.becomeIdle(now, timeouts)
        return settle(connection)
      case .malformed:
        return endBehindAnswers(connection)
      }
    }
  }

  private func endBehindAnswers(_ connection: Connection) -> Bool {
    closeAfterAnswers(connection)
    connection.state.becomeIdle(now, timeouts)
    return settle(connection)
  }
}
