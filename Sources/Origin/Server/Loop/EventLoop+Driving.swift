import HTTP
import Linux
import System

/// Carries out a connection's decisions.
extension EventLoop {
  /// How many reads a connection gets before others have their turn.
  private static let maxReads = 4
  /// From how many bytes on a part of a body is read only in a connection's turn, after the requests that have come: 64 KB.
  private static let largeRead = 1 << 16

  /// Does what can be done for a connection, until it has to wait.
  func drive(_ connection: Connection) {
    restoreInput(connection)
    act(connection.http.next(&workspace, now), for: connection)
  }

  /// Acts on the connection's expired deadline.
  func timeOut(_ connection: Connection) {
    guard now >= connection.http.deadline else { return schedule(connection) }
    restoreInput(connection)
    let phase = connection.http.phase
    let action = connection.http.timedOut(unacknowledged: connection.unacknowledged, &workspace, now)
    if phase == .handshaking, action == .close { metrics.failedHandshakes.add(1) }
    switch (phase, action) {
    case (_, .wait), (.idle, _), (.lingering, _): break
    default: metrics.timeouts.add(1)
    }
    act(action, for: connection)
  }

  private func act(_ first: HTTPConnection.Action, for connection: Connection) {
    var action = first
    var reads = 0
    while true {
      switch action {
      case .read:
        // For a body, reads are limited by the slower worker.
        if connection.upload == nil { reads += 1 }
        guard reads <= EventLoop.maxReads else { return yieldTurn(connection) }
        read(connection)
      case .dispatch(let head): dispatch(head, connection)
      case .flush:
        if isBulk(connection) {
          guard hasTurn else {
            keepForTurn(connection)
            return yieldTurn(connection)
          }
          hasTurn = false
        }
        guard flush(connection) else { return yieldTurn(connection) }
      case .readBody(let size) where size >= EventLoop.largeRead:
        guard hasTurn else { return yieldTurn(connection) }
        hasTurn = false
        readBody(connection, upTo: size)
      case .wait:
        saveInput(connection)
        return schedule(connection)
      case .close:
        connection.tls?.sendCloseNotify()
        workspace.input.removeAll()
        return close(connection)
      default: actRarely(action, for: connection)
      }
      action = connection.http.next(&workspace, now)
    }
  }

  /// The actions that a poll doesn't need; separate, so that polls don't save registers for them.
  @inline(never)
  private func actRarely(_ action: HTTPConnection.Action, for connection: Connection) {
    switch action {
    case .handshake: handshake(connection)
    case .refuse(let status): refuse(connection, status)
    case .readBody(let size): readBody(connection, upTo: size)
    case .store(let bytes): store(bytes, connection)
    case .deliver(let last): deliver(connection, last: last)
    case .sendContinue: sendContinue(connection)
    case .abandonBody(let status): abandonBody(connection, status)
    case .leave: connection.http.leave(unacknowledged: connection.unacknowledged)
    case .shutdownSending:
      connection.tls?.sendCloseNotify()
      Kernel.shutdownSending(connection.descriptor.raw)
      connection.http.sendingEnded(unacknowledged: connection.unacknowledged, now)
    case .read, .dispatch, .flush, .wait, .close: break
    }
  }

  /// Moves the connection's input into the workspace.
  private func restoreInput(_ connection: Connection) {
    guard !connection.savedInput.isEmpty else { return }
    workspace.input.restore(connection.savedInput)
    connection.savedInput = []
  }

  /// Empties the workspace for other connections.
  private func saveInput(_ connection: Connection) {
    if !workspace.input.isEmpty { connection.savedInput = workspace.input.takeAll() }
  }

  /// Lets the connection continue after the others have had their turn; its deadline applies even if it never has to wait.
  private func yieldTurn(_ connection: Connection) {
    saveInput(connection)
    schedule(connection)
    guard !connection.hasYielded else { return }
    connection.hasYielded = true
    yielded.append(connection.token)
  }

  private func read(_ connection: Connection) {
    let space = workspace.input.space()
    if let tls = connection.tls { return read(connection, tls, into: space) }
    switch Kernel.receive(connection.descriptor.raw, into: space) {
    case .bytes(let count):
      metrics.bytesIn.add(UInt64(count))
      workspace.input.append(count)
      connection.http.received(count, filled: count == space.count, now)
    case .wouldBlock: connection.http.nothingToRead()
    case .end: connection.http.inputEnded()
    case .broken: close(connection)
    }
  }

  /// Lets the handler answer the request whose head was parsed.
  private func dispatch(_ range: Range<Int>, _ connection: Connection) {
    connection.start = now
    let memory = workspace.input.memory(range)
    let span = UnsafeRawBufferPointer(memory).bytes
    var peer = connection.peer
    if trustsProxies {
      let trusted = context.configuration.trustedProxies
      peer = ForwardedFor.client(of: Request(workspace.parser.head, in: span, from: peer), trusted: trusted)
    }
    if log != nil { connection.logged = LogRequest(workspace.parser.head, in: span, from: peer) }
    if workspace.parser.head.method == .other {
      return respond(error(.notImplemented), to: connection, closing: true)
    }
    if workspace.parser.head.pathNeedsNormalising {
      var bytes = memory.mutableBytes
      workspace.parser.normalisePath(in: &bytes)
    }
    let request = Request(workspace.parser.head, in: UnsafeRawBufferPointer(memory).bytes, from: peer)
    switch handler.handle(request) {
    case .now(let response): respond(response, to: connection)
    case .later(let work): makeLater(work, handler.scheduling(of: request), connection)
    case .deferred(let begin):
      connection.http.wait()
      let (token, mailbox) = (connection.token, mailbox)
      begin { mailbox.post(.answer(token: token, $0)) }
    case .abandonable(let begin):
      connection.http.wait()
      let (token, mailbox) = (connection.token, mailbox)
      connection.abandon = begin { mailbox.post(.answer(token: token, $0)) }
    case .receive(let limit, let make):
      receive(request, limit, handler.scheduling(of: request), make, connection)
    }
  }

  /// Lets a worker make the answer.
  private func makeLater(
    _ work: @escaping @Sendable () -> Response, _ scheduling: Scheduling, _ connection: Connection
  ) {
    let (token, mailbox) = (connection.token, mailbox)
    let job = WorkerJob(
      holder: scheduling.holder, cancellation: scheduling.isInterruptible ? Cancellation() : nil
    ) { mailbox.post(.answer(token: token, work())) }
    guard submit(job, to: context.lanes[scheduling.lane], for: connection) else {
      return respond(overload(), to: connection)
    }
    connection.http.wait()
  }

  /// Gives a worker a job for a connection; false if too many wait already.
  func submit(
    _ job: WorkerJob, to pool: WorkerPool, for connection: Connection, always: Bool = false
  ) -> Bool {
    guard pool.submit(job, always: always) else { return false }
    connection.work = PendingWork(job: job, pool: pool)
    if connection.http.peerIsDone { pool.postpone(job) }
    return true
  }

  /// Called when a client has ended its side: unless it has only closed that half, nobody waits for its answer.
  func peerFinished(_ connection: Connection) {
    connection.http.peerFinished()
    if let work = connection.work { work.pool.postpone(work.job) }
    connection.abandon.take()?()
  }

  /// Called when a worker has made the answer.
  func handleAnswer(_ response: Response, of connection: Connection) {
    (connection.work, connection.abandon) = (nil, nil)
    guard let response = ready(response, for: connection) else { return }
    respond(response, to: connection)
    drive(connection)
  }

  /// The answer, or another one if its file turned out to be bad; nil if nothing of the file has been checked yet: then it comes
  /// again.
  private func ready(_ response: Response, for connection: Connection) -> Response? {
    guard let file = response.body.firstFile, let gate = file.owner.gate else { return response }
    let (token, mailbox) = (connection.token, mailbox)
    let sendable = gate.sendable(at: file.offset, upTo: 1) {
      mailbox.post(.answer(token: token, response))
    }
    guard let sendable else { return gate.failure }
    return sendable > 0 ? response : nil
  }

  /// Answers input that can't be parsed as a request, or that arrives too slowly.
  private func refuse(_ connection: Connection, _ status: Status) {
    connection.start = now
    if log != nil {
      // As far as it was parsed.
      let bytes = UnsafeRawBufferPointer(workspace.input.unused).bytes
      connection.logged = LogRequest(workspace.parser.head, in: bytes, from: connection.peer)
    }
    respond(error(status), to: connection, closing: true)
  }
}
