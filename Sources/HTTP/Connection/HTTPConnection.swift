/// The server's end of one HTTP/1.1 connection, without I/O (RFC 9112).
///
/// It decides, and whoever drives it acts: `next` says what to do, and what came of it is told by the method that the
/// action names, until the answer is to wait. Then it is asked again when something happened. Times are nanoseconds of
/// one clock, the present one given with each call that needs it.
package struct HTTPConnection: ~Copyable, Sendable {
  /// What is to be done next.
  package enum Action: Sendable, Equatable {
    /// Go on with the handshake that comes before the first request: then `handshaken`, `handshakeFailed`, or as for `read`
    /// and `flush` where it has to wait.
    case handshake
    /// Read behind the input: then `received`, `nothingToRead` or `inputEnded`.
    case read
    /// Read up to so many bytes of the body into the receiver's memory: then `receivedBody`, or as for `read`.
    case readBody(upTo: Int)
    /// These bytes of the input are a head, which the parser has read: then `answer`, `wait` or `receiveBody`.
    case dispatch(Range<Int>)
    /// The input is no request: answer with this status, and close.
    case refuse(Status)
    /// These bytes of the input are the body's: put them behind those that the receiver will be given next.
    case store(Range<Int>)
    /// Give the receiver what it hasn't had of the body, or only have it made if there is nothing: then `delivered` or
    /// `answer`.
    case deliver(last: Bool)
    /// Tell the client to send the body: then `wrote`.
    case sendContinue
    /// The body won't be complete: let go of its receiver, answer with this status, and close.
    case abandonBody(Status)
    /// Send what was written: `sent` for what went, `outputIsFull` where no more does, and at the end `flushed`.
    case flush
    /// The connection is over but for what the client hasn't acknowledged: `leave`.
    case leave
    /// Shut the connection for sending: then `sendingEnded`.
    case shutdownSending
    /// Close the connection.
    case close
    /// Wait until something happens; if nothing does until this time, `timedOut` says what to do.
    case wait(until: UInt64)
  }

  /// Where a connection stands.
  package enum Phase: UInt8, Sendable {
    /// Before the first request: client and server agree on keys.
    case handshaking
    /// Between requests; nothing of the next one has arrived.
    case idle
    /// Part of a head has arrived.
    case head
    /// A worker makes the answer, or takes the body more slowly than it arrives; no time runs.
    case working
    /// A body is arriving.
    case body
    /// A body that nobody wants is arriving, behind its answer.
    case discarding
    /// The client hasn't taken the answers yet.
    case writing
    /// The last answer is with the kernel; what the client still sends is dropped until it closes.
    case lingering
    case closed
  }

  /// Answers are sent when they have grown to this size, whatever else has arrived.
  private static let flushSize: UInt64 = 65_536

  let rules: ConnectionRules
  /// Where it stands.
  package internal(set) var phase = Phase.idle
  /// The connection is over.
  package internal(set) var isClosed = false
  /// When the present phase is over; `.max`: never.
  package internal(set) var deadline: UInt64
  /// How many heads there have been.
  package private(set) var requests = 0
  /// The connection ends when the answers so far are sent.
  package internal(set) var closesAfterAnswers = false
  /// Closing at once could destroy the last answer: the client may still be sending (RFC 9112 §9.6).
  var lingers = false
  /// No more requests than those that are on their way.
  var isDraining = false

  /// The last read may have left something.
  var canRead = true
  /// The client sends no more: read until the end shows.
  private var peerIsDone = false
  /// The end was read.
  private(set) var inputHasEnded = false
  /// The parser has seen all of the input, which is the beginning of a head.
  private var isParsed = false
  /// How far that head was parsed.
  var partial: PartialHead?

  /// The request at hand is a HEAD: its answer has no body.
  package internal(set) var isHead = false
  /// It is of HTTP/1.1.
  private var isHTTP11 = true
  /// It waits to be told to send its body.
  var expectsContinue = false
  /// How long its body is that nobody has asked for yet.
  var bodyLength = BodyLength.none
  /// The body of the request at hand, wanted or not, until all of it is there.
  var body: IncomingBody?

  /// The last write found room.
  package private(set) var canWrite = true
  /// Bytes of answers so far.
  package private(set) var produced: UInt64 = 0
  /// How many of them the kernel has.
  package private(set) var sent: UInt64 = 0
  /// How many of them the client has acknowledged, when last looked at.
  var acknowledged: UInt64 = 0

  /// A connection that was opened now.
  ///
  /// - Parameter handshakes: a handshake comes first, in the time that a head may take.
  package init(_ rules: ConnectionRules, _ now: UInt64, handshakes: Bool = false) {
    self.rules = rules
    phase = handshakes ? .handshaking : .idle
    deadline = now &+ (handshakes ? rules.timeouts.head : rules.timeouts.idle)
  }

  /// Bytes of answers that the kernel doesn't have.
  package var unsent: UInt64 { produced &- sent }

  /// What to do next; the workspace's input is this connection's.
  package mutating func next(_ workspace: inout ConnectionWorkspace, _ now: UInt64) -> Action {
    phase == .idle || phase == .head ? nextRequest(&workspace, now) : nextInExchange(&workspace, now)
  }

  /// What to do in the midst of a request, or at the end.
  @inline(never)
  private mutating func nextInExchange(_ workspace: inout ConnectionWorkspace, _ now: UInt64) -> Action {
    switch phase {
    case .idle, .head: nextRequest(&workspace, now)
    case .handshaking: nextOfHandshake(now)
    // Earlier answers may still be on their way while a worker or a body keeps the connection busy.
    case .working: unsent > 0 && canWrite ? .flush : .wait(until: .max)
    case .body: unsent > 0 && canWrite ? .flush : nextOfBody(&workspace, now)
    case .discarding: discard(&workspace, now)
    case .writing: canWrite ? .flush : .wait(until: deadline)
    case .lingering: dropInput(&workspace)
    case .closed: .close
    }
  }

  // MARK: Between answers

  @inline(__always)
  private mutating func nextRequest(_ workspace: inout ConnectionWorkspace, _ now: UInt64) -> Action {
    if closesAfterAnswers { return end(&workspace) }
    let hasRequests = !workspace.input.isEmpty && !isParsed && body == nil
    if hasRequests, unsent < HTTPConnection.flushSize, let action = parse(&workspace, now) { return action }
    if unsent > 0 { return .flush }
    if body != nil {
      phase = .discarding
      deadline = now &+ rules.timeouts.body
      return discard(&workspace, now)
    }
    // A half head, or nothing: there is nobody to answer.
    if inputHasEnded { return .close }
    if partial != nil, phase != .head {
      phase = .head
      deadline = now &+ rules.timeouts.head
    }
    if canRead { return .read }
    if isDraining, phase == .idle { return .leave }
    return .wait(until: deadline)
  }

  /// Reads the head that the input begins with; nil where it isn't complete.
  @inline(__always)
  private mutating func parse(_ workspace: inout ConnectionWorkspace, _ now: UInt64) -> Action? {
    if partial == nil { workspace.parser.restart() } else { resume(&workspace) }
    // By address: a span of the workspace's own memory would hold all of the workspace.
    let input = UnsafeRawBufferPointer(workspace.input.unused)
    switch workspace.parser.parse(input.bytes, limits: rules.request) {
    case .complete(let count):
      begin(&workspace)
      return .dispatch(workspace.input.remove(count))
    case .incomplete:
      pause(&workspace, now)
      return nil
    case .failed(let error):
      isHead = workspace.parser.isHEAD(input.bytes)
      return .refuse(error.status)
    }
  }

  /// Keeps how far a head was parsed, until more of it has arrived.
  @inline(never)
  private mutating func pause(_ workspace: inout ConnectionWorkspace, _ now: UInt64) {
    isParsed = true
    guard workspace.parser.hasOnlyEmptyLines(workspace.input.count) else {
      partial = PartialHead(workspace.parser)
      return
    }
    workspace.input.removeAll()
    // What began as a CR alone was no head.
    if phase == .head {
      phase = .idle
      deadline = now &+ rules.timeouts.idle
    }
  }

  /// Goes on with a head that hadn't arrived whole.
  @inline(never)
  mutating func resume(_ workspace: inout ConnectionWorkspace) {
    if let partial { workspace.parser = partial.parser }
    partial = nil
  }

  /// A head is complete.
  @inline(__always)
  private mutating func begin(_ workspace: inout ConnectionWorkspace) {
    requests &+= 1
    phase = .idle
    isHead = workspace.parser.head.method == .head
    isHTTP11 = workspace.parser.head.isHTTP11
    expectsContinue = workspace.parser.head.expectsContinue
    bodyLength = workspace.parser.head.bodyLength
    let keepsAlive = workspace.parser.head.keepAlive
    if !keepsAlive || requests >= rules.requests || isDraining {
      closesAfterAnswers = true
      // Nobody told this client that it is its last request: it may be sending the next one.
      if keepsAlive { lingers = true }
    }
  }

  // MARK: Answers

  /// An answer comes; says what it tells the client about the connection.
  ///
  /// - Parameter closing: the connection ends behind it.
  package mutating func answer(
    closing: Bool, _ now: UInt64
  ) -> ResponseWriter.Connection {
    if let body, body.isWanted {
      self.body = nil
      // Before the end of the body: the rest isn't wanted.
      if !body.isComplete { closeAfterAnswers() }
    }
    if case .none = bodyLength {} else { discardBody() }
    if closing || isDraining { closeAfterAnswers() }
    phase = .idle
    deadline = now &+ rules.timeouts.idle
    return closesAfterAnswers ? .close : isHTTP11 ? .open : .keepAlive
  }

  /// So many bytes of answers are ready to be sent.
  package mutating func wrote(_ count: UInt64) { produced &+= count }

  /// The answer, or what makes room for the body, comes from elsewhere: no time runs until then.
  package mutating func wait() {
    phase = .working
    deadline = .max
  }

  /// The connection ends by the server's decision, behind the answers so far; its client may be sending more.
  mutating func closeAfterAnswers() {
    closesAfterAnswers = true
    lingers = true
    if body?.isWanted == false { body = nil }
  }

  // MARK: Input

  /// There may be something to read.
  package mutating func becameReadable() { canRead = true }

  /// The client sends no more than what has arrived.
  package mutating func peerFinished() {
    canRead = true
    peerIsDone = true
  }

  /// A read brought `count` bytes.
  ///
  /// - Parameter filled: all that there was room for, which says nothing about what is left.
  package mutating func received(
    _ count: Int, filled: Bool, _ now: UInt64
  ) {
    canRead = filled || peerIsDone
    isParsed = false
    if phase == .body || phase == .discarding { bodyArrived(count, now) }
  }

  /// A read found nothing.
  package mutating func nothingToRead() { canRead = false }

  /// A read found the end of what the client sends.
  package mutating func inputEnded() {
    inputHasEnded = true
    canRead = false
  }

  // MARK: Output

  /// There may be room to write.
  package mutating func becameWritable() { canWrite = true }

  /// The kernel took so many bytes more.
  package mutating func sent(_ count: Int) { sent &+= UInt64(count) }

  /// The kernel has room for no more.
  package mutating func outputIsFull() { canWrite = false }

  /// What could be sent is sent; says whether that is all.
  ///
  /// - Parameter unacknowledged: bytes that the kernel has and the client not yet, asked for where it has to be known.
  package mutating func flushed(_ now: UInt64, unacknowledged: @autoclosure () -> UInt64) -> Bool {
    guard unsent == 0 else {
      // In another phase the answers are sent beside it: a worker is busy, or a body arrives.
      if phase == .idle || phase == .head {
        progressed(unacknowledged(), now)
        phase = .writing
        deadline = now &+ rules.timeouts.write
      }
      return false
    }
    if phase == .writing {
      phase = .idle
      deadline = now &+ rules.timeouts.idle
    }
    return true
  }
}

/// How far a head was parsed that hasn't arrived whole.
final class PartialHead: Sendable {
  let parser: RequestParser

  init(_ parser: RequestParser) { self.parser = parser }
}
