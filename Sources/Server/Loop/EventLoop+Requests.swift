import HTTP
import Platform
import System

extension EventLoop {
  /// Rounds of one connection before the others have their turn.
  private static let turns = 4
  /// Rendered answers are sent when they have grown to this size.
  private static let flushSize = 65_536

  /// Does what can be done for a connection, until it has to wait.
  func drive(_ connection: Connection) {
    var turns = EventLoop.turns
    while step(connection) {
      turns -= 1
      if turns == 0 {
        // Its time runs also where it never has to wait.
        schedule(connection)
        return takeTurn(connection)
      }
    }
    rest(connection)
  }

  /// Nothing more can be done for a connection at present: it waits. One without a request, in a drain, ends.
  func rest(_ connection: Connection) {
    guard !connection.isClosed else { return }
    if isDraining, connection.state.phase == .idle, connection.stash.isEmpty { return leave(connection) }
    schedule(connection)
  }

  /// It goes on when the others have had their turn.
  func takeTurn(_ connection: Connection) {
    guard !connection.takesTurn else { return }
    connection.takesTurn = true
    again.append(connection.token)
  }

  /// One step; true when another can follow at once.
  private func step(_ connection: Connection) -> Bool {
    // Earlier answers may still be on their way while a worker or a body keeps the connection busy.
    if connection.canWrite, !connection.queue.isEmpty, connection.state.phase != .writing {
      _ = flush(connection)
    }
    return switch connection.state.phase {
    case .idle, .head: readRequests(connection)
    case .body: connection.discarding == nil ? readBody(connection) : discardBody(connection)
    case .writing: resumeWriting(connection)
    case .lingering: linger(connection)
    case .working, .closed: false
    }
  }

  /// Reads once, and answers the requests that are complete.
  private func readRequests(_ connection: Connection) -> Bool {
    let requests = connection.state.requests
    var filled = unstash(connection)
    if filled == 0 || connection.partialHead != nil {
      guard let count = read(connection, behind: filled) else { return false }
      filled += count
    }
    let used = answerRequests(connection, filled)
    guard !connection.isClosed else { return false }
    stash(connection, used..<filled)
    // Empty lines alone buy no time.
    if used == filled, connection.state.phase == .idle, connection.state.requests == requests,
      !connection.inputEnded, !connection.state.closesAfterAnswers
    {
      return connection.canRead
    }
    _ = flush(connection)
    return settle(connection)
  }

  /// Decides what the connection waits for now; true when it needn't wait.
  func settle(_ connection: Connection) -> Bool {
    guard connection.isBetweenAnswers else { return !connection.isClosed }
    if connection.discarding != nil, !connection.state.closesAfterAnswers {
      connection.state.waitForBody(now, timeouts)
      return true
    }
    if connection.state.closesAfterAnswers {
      finish(connection)
      return connection.state.phase == .lingering
    }
    if connection.stash.isEmpty {
      connection.state.becomeIdle(now, timeouts)
    } else if connection.partialHead != nil {
      connection.state.waitForHead(now, timeouts)
    } else {
      // Whole requests may wait in the stash.
      connection.state.becomeIdle(now, timeouts)
      return true
    }
    if connection.inputEnded {
      close(connection)
      return false
    }
    return connection.canRead
  }

  /// Copies what was left over to the front of the scratch memory; gives its length.
  func unstash(_ connection: Connection) -> Int {
    guard !connection.stash.isEmpty else { return 0 }
    let count = connection.stash.count
    connection.stash.withUnsafeBytes { scratch.copyMemory(from: $0) }
    connection.stash = []
    return count
  }

  /// Keeps a part of the scratch memory for later.
  func stash(_ connection: Connection, _ range: Range<Int>) {
    if !range.isEmpty { connection.stash = [UInt8](scratch[range]) }
  }

  /// Reads behind the first `filled` bytes of the scratch memory; nil when nothing new came and the
  /// connection has to wait, or was closed.
  func read(_ connection: Connection, behind filled: Int) -> Int? {
    if connection.canRead, !connection.inputEnded {
      let space = UnsafeMutableRawBufferPointer(rebasing: scratch[filled..<filled + EventLoop.readSize])
      switch Kernel.receive(connection.descriptor.raw, into: space) {
      case .bytes(let count):
        connection.canRead = count == space.count || connection.peerDone
        metrics.bytesIn.add(UInt64(count))
        return count
      case .end:
        connection.inputEnded = true
        connection.canRead = false
      case .wouldBlock:
        connection.canRead = false
      case .broken:
        close(connection)
        return nil
      }
    }
    if connection.inputEnded {
      // A half head, or nothing: there is nobody to answer.
      close(connection)
      return nil
    }
    stash(connection, 0..<filled)
    return nil
  }

  static let readSize = 65_536

  /// Answers the whole requests in the first `filled` bytes of the scratch memory, as far as it can go on;
  /// gives the number of bytes used.
  private func answerRequests(_ connection: Connection, _ filled: Int) -> Int {
    var used = 0
    while used < filled {
      let input = UnsafeMutableRawBufferPointer(rebasing: scratch[used..<filled])
      takeParser(of: connection)
      switch parser.parse(UnsafeRawBufferPointer(input).bytes, limits: limits.request) {
      case .incomplete:
        if parser.hasOnlyEmptyLines(input.count) { return filled }
        connection.partialHead = PartialHead(parser)
        return used
      case .failed(let error):
        let bytes = UnsafeRawBufferPointer(input).bytes
        connection.exchange = Exchange(isHead: parser.isHEAD(bytes), start: now)
        note(parser.head, in: bytes, connection)
        refuse(connection, error.status)
        return filled
      case .complete(let count):
        used += count
        answer(UnsafeMutableRawBufferPointer(rebasing: input[..<count]), connection)
      }
      guard connection.isBetweenAnswers else { return used }
      if connection.state.closesAfterAnswers {
        if used < filled { connection.lingers = true }
        return filled
      }
      if !connection.queue.isEmpty || outbox.count >= EventLoop.flushSize {
        guard flush(connection), !connection.isClosed else { return used }
      }
      if connection.discarding != nil { return used }
    }
    return used
  }

  /// Goes on with the head that the connection began, or begins a new one.
  private func takeParser(of connection: Connection) {
    if let partial = connection.partialHead {
      parser = partial.parser
      connection.partialHead = nil
    } else {
      parser.restart()
    }
  }

  /// Lets the handler answer the request whose head was parsed in `input`.
  private func answer(_ input: UnsafeMutableRawBufferPointer, _ connection: Connection) {
    connection.state.begin(
      keepAlive: parser.head.keepAlive, limit: limits.requestsPerConnection, draining: isDraining)
    // Nobody told this client that it is its last request: it may be sending the next one.
    if connection.state.closesAfterAnswers, parser.head.keepAlive { connection.lingers = true }
    connection.exchange.isHead = parser.head.method == .head
    connection.exchange.isHTTP11 = parser.head.isHTTP11
    connection.exchange.start = now
    let span = UnsafeRawBufferPointer(input).bytes
    var peer = connection.peer
    if trustsProxies {
      let trusted = context.configuration.trustedProxies
      peer = ForwardedFor.client(of: Request(parser.head, in: span, from: peer), trusted: trusted)
    }
    if log != nil { connection.exchange.logged = LogRequest(parser.head, in: span, from: peer) }
    if parser.head.method == .other { return refuse(connection, .notImplemented) }
    if parser.head.pathNeedsNormalising {
      var bytes = input.mutableBytes
      parser.normalisePath(in: &bytes)
    }
    let request = Request(parser.head, in: UnsafeRawBufferPointer(input).bytes, from: peer)
    switch handler.handle(request) {
    case .now(let response):
      leaveBody(connection)
      respond(response, to: connection)
    case .later(let work):
      leaveBody(connection)
      makeLater(work, pool(for: request), connection)
    case .deferred(let begin):
      leaveBody(connection)
      let (token, mailbox) = (connection.token, mailbox)
      connection.state.wait()
      begin { mailbox.post(.answer(token: token, $0)) }
    case .receive(let limit, let make):
      receive(request, limit, pool(for: request), make, connection)
    }
  }

  /// Sends an answer that came from elsewhere, and goes on.
  func proceed(_ connection: Connection) {
    _ = flush(connection)
    if settle(connection) { drive(connection) } else { rest(connection) }
  }

  /// Decides what happens to a body that the handler doesn't want: it is read over, or ends the connection.
  private func leaveBody(_ connection: Connection) {
    guard let framing = BodyFraming(parser.head.bodyLength) else { return }
    let length = framing.knownRemaining ?? 0
    let isTooLong = parser.head.expectsContinue || length > limits.discardedBody
    if isTooLong || connection.state.closesAfterAnswers {
      closeAfterAnswers(connection)
    } else {
      connection.discarding = framing
      connection.discarded = 0
    }
  }

  /// The workers that do the blocking work for a request.
  private func pool(for request: borrowing Request) -> WorkerPool {
    handler.usesReservedWorkers(request) ? context.reservedPool : context.pool
  }

  /// Has the answer made by a worker.
  private func makeLater(
    _ work: @escaping @Sendable () -> Response, _ pool: WorkerPool, _ connection: Connection
  ) {
    let token = connection.token
    let mailbox = mailbox
    let taken = pool.submit { mailbox.post(.answer(token: token, work())) }
    guard taken else { return respond(overload(), to: connection) }
    connection.state.wait()
  }

  /// A worker made the answer.
  func takeAnswer(_ response: Response, of connection: Connection) {
    connection.state.becomeIdle(now, timeouts)
    respond(response, to: connection)
    proceed(connection)
  }
}
