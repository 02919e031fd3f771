import HTTP
import Platform
import System
import TLS

/// Moves bytes between the sockets of its connections and one handler, on one thread.
///
/// Sockets are watched edge-triggered and registered once: a connection's `HTTPConnection` remembers whether it can be
/// read and written and decides what is done, and the loop does it. Nothing here is touched by another thread but the
/// mailbox.
final class EventLoop {
  let index: Int
  let context: ServerContext
  let handler: any Handler
  let metrics: LoopMetrics
  let trustsProxies: Bool
  /// Begins TLS with its clients, where the server speaks it.
  let tls: TLSAcceptor?
  let mailbox: Mailbox
  /// What epoll says of a connection with a new request.
  private let usual = EpollEvents([.readable, .writable]).rawValue
  /// Its epoll's number; the mailbox holds it.
  let epoll: Int32

  /// Where the input of the connection that is being driven is read.
  var workspace = ConnectionWorkspace()
  /// What each connection is held to.
  let rules: ConnectionRules
  var pieces = GatherList(capacity: 64)
  /// Where records are put together, where the server speaks TLS.
  let records: RecordBuffer?
  private var events = EpollBatch(capacity: 256)

  /// Answers of the connection that is being driven, until they are sent together.
  var outbox = SendBuffer(capacity: EventLoop.outboxSize)
  /// Answers in the outbox, by status, whose latency is measured when they are sent.
  var answered = AnswerTally()
  /// Their access lines, where these are written.
  var lines: [AccessLine] = []
  let writer: ResponseWriter
  var log: LogBuffer?
  /// The loop will look at the log in time.
  var isLogScheduled = false

  var connections: [Connection?] = []
  private var freeSlots: [Int] = []
  private var generation: UInt64 = 0
  private(set) var openCount = 0
  var deadlines = DeadlineHeap()
  /// Connections that used up their turn with work left.
  var again: [UInt64] = []
  /// Connections that a limit refused and that aren't closed yet.
  var refusedCount = 0

  /// Nanoseconds of the monotonic clock when the present round began.
  var now = Clock.monotonicNanoseconds()
  /// When the second of the Date field is over.
  private var secondEnds: UInt64 = 0
  var isAccepting = true
  /// A descriptor to give up, so that a client can be refused when no other is left.
  var spare: Descriptor?
  private(set) var drainDeadline: UInt64?

  static let outboxSize = 131_072

  enum Token {
    static let listener = UInt64.max
    static let mailbox = UInt64.max - 1
    static let accept = UInt64.max - 2
    static let log = UInt64.max - 3
  }

  init(_ index: Int, _ context: ServerContext, _ handler: any Handler) {
    self.index = index
    self.context = context
    rules = context.configuration.rules
    self.handler = handler
    metrics = context.metrics[index]
    trustsProxies = !context.configuration.trustedProxies.isEmpty
    tls = context.configuration.tls
    records = tls.map { _ in RecordBuffer() }
    mailbox = context.mailboxes[index]
    writer = ResponseWriter(server: context.configuration.name)
    log = context.configuration.accessLog.map { LogBuffer($0) }
    epoll = mailbox.epoll.raw
    spare = Kernel.spare()
  }

  var isDraining: Bool { drainDeadline != nil }

  /// Runs until a stop message, and then until the last answer is sent or its time is over.
  func run() {
    while true {
      if let end = drainDeadline, openCount == 0 || now >= end { break }
      round()
    }
    for connection in connections { if let connection { close(connection) } }
    // A connection that another loop passed on too late has nobody else to close it.
    for case .adopt(let descriptor, _) in mailbox.take() { _ = Descriptor(owning: descriptor) }
    log?.flush()
  }

  private func round() {
    let count = events.wait(epoll, milliseconds: waitTimeout)
    now = Clock.monotonicNanoseconds()
    if now >= secondEnds { tick() }
    for index in 0..<count {
      let event = events[index]
      take(event.events, token: event.token)
    }
    let turns = again
    if !turns.isEmpty {
      again = []
      for token in turns {
        guard let connection = connection(token) else { continue }
        connection.takesTurn = false
        // What its last turn left may be unread in the socket.
        if connection.tls != nil { connection.http.becameReadable() }
        drive(connection)
      }
    }
    if let next = deadlines.next, next <= now { expire() }
  }

  /// Has the Date field rendered for the second that begins, and finds out when that ends.
  private func tick() {
    let milliseconds = Clock.unixMilliseconds()
    writer.tick(milliseconds / 1000)
    secondEnds = now &+ UInt64(1000 - milliseconds % 1000) * 1_000_000
  }

  /// How long to wait for events at most, in milliseconds.
  private var waitTimeout: Int32 {
    if !again.isEmpty { return 0 }
    let next = min(deadlines.next ?? .max, drainDeadline ?? .max)
    guard next != .max else { return -1 }
    guard next > now else { return 0 }
    return Int32(min((next &- now &+ 999_999) / 1_000_000, 60_000))
  }

  private func take(_ events: EpollEvents, token: UInt64) {
    switch token {
    case Token.listener: accept()
    case Token.mailbox: for message in mailbox.take() { take(message) }
    default:
      if let connection = connection(token) { take(events, of: connection) }
    }
  }

  private func take(_ events: EpollEvents, of connection: Connection) {
    if events.rawValue == usual {
      connection.http.becameReadable()
      connection.http.becameWritable()
      return drive(connection)
    }
    if events.contains(.error) { return close(connection) }
    if events.contains(.hangUp), connection.http.endsWithHangUp { return close(connection) }
    if events.contains(.readable) { connection.http.becameReadable() }
    if events.contains(.peerDone) || events.contains(.hangUp) { connection.http.peerFinished() }
    if events.contains(.writable) {
      connection.http.becameWritable()
      // A read under TLS may have waited for room to write.
      if connection.tls != nil { connection.http.becameReadable() }
    }
    drive(connection)
  }

  private func take(_ message: Message) {
    switch message {
    case .answer(let token, let response):
      if let connection = connection(token) { takeAnswer(response, of: connection) }
    case .taken(let token, let receiver, let response):
      takeProgress(of: receiver, response, connection(token))
    case .adopt(let descriptor, let address):
      open(Descriptor(owning: descriptor), address)
    case .handOverLines(let done):
      log?.flush()
      done()
    case .stop(let deadline):
      drain(until: deadline)
    }
  }

  // MARK: Connections

  func connection(_ token: UInt64) -> Connection? {
    let slot = Int(token & 0xFFFF_FFFF)
    guard slot < connections.count, let connection = connections[slot], connection.token == token else {
      return nil
    }
    return connection
  }

  /// Makes a place for a connection, and the token that names it.
  func claimToken() -> UInt64 {
    generation &+= 1
    let slot: Int
    if let free = freeSlots.popLast() {
      slot = free
    } else {
      slot = connections.count
      connections.append(nil)
    }
    return (generation & 0x7FFF_FFFF) << 32 | UInt64(slot)
  }

  func place(_ connection: Connection) {
    connections[Int(connection.token & 0xFFFF_FFFF)] = connection
    openCount += 1
    metrics.open.add(1)
  }

  /// Ends a connection at once; a body that was half received is dropped.
  func close(_ connection: Connection) {
    guard !connection.isClosed else { return }
    connection.http.closed()
    conclude(connection)
    abandonUpload(of: connection)
    connection.queue.removeAll()
    let slot = Int(connection.token & 0xFFFF_FFFF)
    connections[slot] = nil
    freeSlots.append(slot)
    openCount -= 1
    metrics.open.subtract(1)
    // A thousand connections a second would leave 75,000 entries behind.
    if deadlines.count > 2 * openCount + 64 {
      deadlines.keep { $0.token >= Token.log || self.connection($0.token)?.lookAt == $0.time }
    }
    if connection.isRefused {
      refusedCount -= 1
    } else {
      context.admission.leave(connection.peer, counted: connection.isCounted)
    }
  }

  // MARK: Time

  /// Sees to it that the loop looks at the connection's deadline in time.
  func schedule(_ connection: Connection) {
    let deadline = connection.http.deadline
    guard deadline < connection.lookAt else { return }
    connection.lookAt = deadline
    deadlines.insert(DeadlineHeap.Entry(time: deadline, token: connection.token))
  }

  private func expire() {
    while let entry = deadlines.pop(now) {
      switch entry.token {
      case Token.accept: resumeAccepting()
      case Token.log:
        isLogScheduled = false
        log?.flush()
      default:
        guard let connection = connection(entry.token), connection.lookAt == entry.time else { continue }
        connection.lookAt = .max
        timeOut(connection)
      }
    }
  }

  // MARK: The end

  private func drain(until deadline: UInt64) {
    guard drainDeadline == nil else { return }
    drainDeadline = deadline
    // Clients that are connected already are still served; nobody else gets in.
    accept()
    if isAccepting { stopAccepting() }
    Kernel.stopListening(context.listener.raw)
    for connection in connections {
      guard let connection else { continue }
      connection.http.drain()
      if connection.http.phase == .idle || connection.http.phase == .handshaking { drive(connection) }
    }
  }
}
