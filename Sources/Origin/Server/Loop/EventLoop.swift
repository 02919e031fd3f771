import HTTP
import Linux
import System
import TLS

/// Moves bytes between the sockets of its connections and one handler, on a single thread.
///
/// Sockets are edge-triggered and registered once: a connection's `HTTPConnection` remembers whether it can be read and
/// written and decides what to do, and the loop does it. Other threads use nothing here except the mailbox.
final class EventLoop {
  let index: Int
  let context: ServerContext
  let handler: any Handler
  let metrics: LoopMetrics
  let trustsProxies: Bool
  /// Starts TLS with clients, if the server uses it.
  let tls: TLSAcceptor?
  let mailbox: Mailbox
  /// The events that epoll reports for a connection with a new request.
  private let readableAndWritable = EpollEvents([.readable, .writable]).rawValue
  /// The descriptor of its epoll, which the mailbox owns.
  let epoll: Int32

  /// Holds the input of the connection being driven.
  var workspace = ConnectionWorkspace()
  /// The rules for each connection.
  let rules: ConnectionRules
  var pieces = GatherList(capacity: 64)
  /// Where records are assembled, if the server uses TLS.
  let records: RecordBuffer?
  private var events = EpollBatch(capacity: 256)

  /// Answers of the connection being driven, until they are sent together.
  var outbox = SendBuffer(capacity: EventLoop.outboxSize)
  /// The answers in the outbox, whose latency is measured when they are sent.
  var answered = AnswerTally()
  /// Their access lines, if there is an access log.
  var lines: [AccessLine] = []
  let writer: ResponseWriter
  var log: LogBuffer?
  /// Whether a flush of the log is scheduled.
  var isLogScheduled = false

  var connections: [Connection?] = []
  private var freeSlots: [Int] = []
  private var generation: UInt64 = 0
  private(set) var openCount = 0
  var deadlines = DeadlineHeap()
  /// Connections that used up their turn with work left.
  var yielded: [UInt64] = []
  /// Whether the connection being driven has its turn, and hasn't used it.
  var hasTurn = false
  /// The number of connections that were refused by a limit and aren't closed yet.
  var refusedCount = 0

  /// When the current round began, in monotonic nanoseconds.
  var now = Clock.monotonicNanoseconds()
  /// When the Date field's second ends.
  private var secondEnds: UInt64 = 0
  var isAccepting = true
  /// A descriptor to release, so that a client can be refused when no other is left.
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

  /// Runs until a stop message, and then until the last answer is sent or the grace period ends.
  func run() {
    while true {
      if let end = drainDeadline, openCount == 0 || now >= end { break }
      round()
    }
    for connection in connections { if let connection { close(connection) } }
    // Connections that another loop passed on too late must be closed here.
    for case .adopt(let descriptor, _) in mailbox.drain() { _ = Descriptor(owning: descriptor) }
    log?.flush()
  }

  private func round() {
    let count = events.wait(epoll, milliseconds: waitTimeout)
    now = Clock.monotonicNanoseconds()
    if now >= secondEnds { tick() }
    for index in 0..<count {
      let event = events[index]
      handle(event.events, token: event.token)
    }
    if !yielded.isEmpty { giveTurns() }
    if let next = deadlines.next, next <= now { expire() }
  }

  /// Renders the Date field for the new second and determines when that ends.
  private func tick() {
    let milliseconds = Clock.unixMilliseconds()
    writer.tick(milliseconds / 1000)
    secondEnds = now &+ UInt64(1000 - milliseconds % 1000) * 1_000_000
  }

  /// The longest time to wait for events, in milliseconds.
  private var waitTimeout: Int32 {
    if !yielded.isEmpty { return 0 }
    let next = min(deadlines.next ?? .max, drainDeadline ?? .max)
    guard next != .max else { return -1 }
    guard next > now else { return 0 }
    return Int32(min((next &- now &+ 999_999) / 1_000_000, 60_000))
  }

  private func handle(_ events: EpollEvents, token: UInt64) {
    switch token {
    case Token.listener: accept()
    case Token.mailbox: for message in mailbox.drain() { handle(message) }
    default:
      if let connection = connection(token) { handle(events, of: connection) }
    }
  }

  private func handle(_ events: EpollEvents, of connection: Connection) {
    if events.rawValue == readableAndWritable {
      connection.http.becameReadable()
      connection.http.becameWritable()
      return drive(connection)
    }
    if events.contains(.error) { return close(connection) }
    if events.contains(.hangUp), connection.http.endsWithHangUp { return close(connection) }
    if events.contains(.readable) { connection.http.becameReadable() }
    if events.contains(.peerDone) || events.contains(.hangUp) { peerFinished(connection) }
    if events.contains(.writable) {
      connection.http.becameWritable()
      // A read under TLS may have waited for space to write.
      if connection.tls != nil { connection.http.becameReadable() }
    }
    drive(connection)
  }

  private func handle(_ message: Message) {
    switch message {
    case .answer(let token, let response):
      if let connection = connection(token) { handleAnswer(response, of: connection) }
    case .consumed(let token, let receiver, let response):
      handleProgress(of: receiver, response, connection(token))
    case .sendMore(let token):
      guard let connection = connection(token) else { return }
      connection.http.becameWritable()
      drive(connection)
    case .adopt(let descriptor, let address):
      open(Descriptor(owning: descriptor), address)
    case .flushLog(let done):
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

  /// Reserves a slot for a connection and returns the token that identifies it.
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

  func register(_ connection: Connection) {
    connections[Int(connection.token & 0xFFFF_FFFF)] = connection
    openCount += 1
    metrics.open.add(1)
  }

  /// Closes a connection at once; a partly received body is dropped.
  func close(_ connection: Connection) {
    guard !connection.isClosed else { return }
    connection.http.closed()
    conclude(connection)
    abandonUpload(of: connection)
    if let work = connection.work.take() { work.pool.cancel(work.job) }
    connection.abandon.take()?()
    connection.queue.removeAll()
    let slot = Int(connection.token & 0xFFFF_FFFF)
    connections[slot] = nil
    freeSlots.append(slot)
    openCount -= 1
    metrics.open.subtract(1)
    // A thousand connections per second would leave 75,000 entries behind.
    if deadlines.count > 2 * openCount + 64 {
      deadlines.keep { $0.token >= Token.log || self.connection($0.token)?.nextCheck == $0.time }
    }
    if connection.isRefused {
      refusedCount -= 1
    } else {
      context.admission.leave(connection.peer, counted: connection.isCounted)
    }
  }

  // MARK: Time

  /// Makes sure that the loop checks the connection's deadline in time.
  func schedule(_ connection: Connection) {
    let deadline = connection.http.deadline
    guard deadline < connection.nextCheck else { return }
    connection.nextCheck = deadline
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
        guard let connection = connection(entry.token), connection.nextCheck == entry.time else { continue }
        connection.nextCheck = .max
        timeOut(connection)
      }
    }
  }

  // MARK: The end

  private func drain(until deadline: UInt64) {
    guard drainDeadline == nil else { return }
    drainDeadline = deadline
    // Clients that are already connected are still served; no others are accepted.
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
