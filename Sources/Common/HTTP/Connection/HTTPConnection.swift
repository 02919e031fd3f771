/// The server's side of an HTTP/1.1 connection, without I/O (RFC 9112).
///
/// It decides, and its driver acts: `next` returns an action, and the methods that the action names report its outcome,
/// until the action is to wait. The driver calls `next` again when something has happened. All times are nanoseconds on
/// one clock; each call that needs the current time takes it.
package struct HTTPConnection: ~Copyable, Sendable {
  /// What the driver does next.
  package enum Action: Sendable, Equatable {
    /// Continue the handshake that precedes the first request: then `handshaken`, `handshakeFailed`, or as for `read`
    /// and `flush` if it has to wait.
    case handshake
    /// Read into the input's free space: then `received`, `nothingToRead` or `inputEnded`.
    case read
    /// Read up to this many bytes of the body into the receiver's memory: then `receivedBody`, or as for `read`.
    case readBody(upTo: Int)
    /// These bytes of the input are a head that the parser has read: then `answer`, `wait` or `receiveBody`.
    case dispatch(Range<Int>)
    /// The input isn't a valid request: answer with this status, and close.
    case refuse(Status)
    /// These bytes of the input belong to the body: append them to the receiver's next piece.
    case store(Range<Int>)
    /// Give the receiver the piece of the body that is ready, or only create the receiver if there is none: then `delivered`
    /// or `answer`.
    case deliver(last: Bool)
    /// Tell the client to send the body: then `wrote`.
    case sendContinue
    /// The body won't be completed: abort its receiver, answer with this status, and close.
    case abandonBody(Status)
    /// Send the output: `sent` for each write, `outputIsFull` if no more fits, and `flushed` at the end.
    case flush
    /// The connection is over, except for what the client hasn't acknowledged: `leave`.
    case leave
    /// Shut down the sending side: then `sendingEnded`.
    case shutdownSending
    /// Close the connection.
    case close
    /// Wait for an event; if none comes until this time, `timedOut` returns what to do.
    case wait(until: UInt64)
  }

  /// The state of a connection.
  package enum Phase: UInt8, Sendable {
    /// Before the first request: the handshake.
    case handshaking
    /// Between requests; nothing of the next one has arrived.
    case idle
    /// Part of a head has arrived.
    case head
    /// A worker makes the answer, or takes the body more slowly than it arrives. No deadline applies, except that a client
    /// that has ended its side doesn't get to wait long.
    case working
    /// A body is arriving.
    case body
    /// An unwanted body is arriving, after its answer.
    case discarding
    /// The client hasn't received all answers yet.
    case writing
    /// The kernel has the last answer; further input is dropped until the client closes.
    case lingering
    case closed
  }

  /// Answers are sent once they reach this size, even if more requests have arrived.
  private static let flushSize: UInt64 = 65_536

  let rules: ConnectionRules
  /// The connection's state.
  package internal(set) var phase = Phase.idle
  /// Whether the connection is closed.
  package internal(set) var isClosed = false
  /// When the current phase times out; `.max` means never.
  package internal(set) var deadline: UInt64
  /// The number of heads so far.
  package private(set) var requests = 0
  /// Whether the connection ends once the answers so far are sent.
  package internal(set) var closesAfterAnswers = false
  /// Whether the client may still be sending, so that closing at once could destroy the last answer (RFC 9112 §9.6).
  var lingers = false
  /// Whether no more requests are accepted than those in progress.
  var isDraining = false

  /// Whether the last read may have left something.
  var canRead = true
  /// Whether the client has ended its side; the rest is read up to the end.
  package private(set) var peerIsDone = false
  /// Whether the end of the input was read.
  private(set) var inputHasEnded = false
  /// Whether the parser has seen all input, which is the start of a head.
  private var isParsed = false
  /// The parser's state in that head.
  var partial: PartialHead?

  /// Whether the current request is a HEAD, whose answer has no body.
  package internal(set) var isHead = false
  /// Whether the current request is HTTP/1.1.
  private var isHTTP11 = true
  /// Whether the client waits to be told to send the body.
  var expectsContinue = false
  /// The length of the current request's body, until somebody asks for it.
  var bodyLength = BodyLength.none
  /// The current request's body, wanted or not, until it is complete.
  var body: IncomingBody?

  /// Whether the last write found room.
  package private(set) var canWrite = true
  /// The bytes of all answers so far.
  package private(set) var produced: UInt64 = 0
  /// How many of them the kernel has taken.
  package private(set) var sent: UInt64 = 0
  /// How many of them the client had acknowledged at the last look.
  var acknowledged: UInt64 = 0

  /// Creates the state of a connection opened now. If it `handshakes`, a handshake comes first, in the time
  /// that a head may take.
  package init(_ rules: ConnectionRules, _ now: UInt64, handshakes: Bool = false) {
    self.rules = rules
    phase = handshakes ? .handshaking : .idle
    deadline = now &+ (handshakes ? rules.timeouts.head : rules.timeouts.idle)
  }

  /// The bytes of answers that the kernel hasn't taken.
  package var unsent: UInt64 { produced &- sent }

  /// Returns the next action; the workspace's input must be this connection's.
  package mutating func next(_ workspace: inout ConnectionWorkspace, _ now: UInt64) -> Action {
    phase == .idle || phase == .head ? nextRequest(&workspace, now) : nextInExchange(&workspace, now)
  }

  /// Returns the next action in the middle of a request, or at the end.
  @inline(never)
  private mutating func nextInExchange(_ workspace: inout ConnectionWorkspace, _ now: UInt64) -> Action {
    switch phase {
    case .idle, .head: nextRequest(&workspace, now)
    case .handshaking: nextOfHandshake(now)
    // Earlier answers may still be unsent while a worker or a body keeps the connection busy.
    case .working: unsent > 0 && canWrite ? .flush : awaitAnswer(now)
    case .body: unsent > 0 && canWrite ? .flush : nextOfBody(&workspace, now)
    case .discarding: discard(&workspace, now)
    case .writing: canWrite ? .flush : .wait(until: deadline)
    case .lingering: dropInput(&workspace)
    case .closed: .close
    }
  }

  /// Waits for a worker, for a limited time if the client has ended its side and the answer is all that is left to do.
  private mutating func awaitAnswer(_ now: UInt64) -> Action {
    if peerIsDone, deadline == .max, body?.isComplete ?? true { deadline = now &+ rules.timeouts.leaving }
    return .wait(until: deadline)
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
    // Half a head, or nothing: there is nothing to answer.
    if inputHasEnded { return .close }
    if partial != nil, phase != .head {
      phase = .head
      deadline = now &+ rules.timeouts.head
    }
    if canRead { return .read }
    if isDraining, phase == .idle { return .leave }
    return .wait(until: deadline)
  }

  /// Parses the head at the start of the input; returns nil if it is incomplete.
  @inline(__always)
  private mutating func parse(_ workspace: inout ConnectionWorkspace, _ now: UInt64) -> Action? {
    if partial == nil { workspace.parser.restart() } else { resume(&workspace) }
    // By address: a span of the workspace's memory would borrow the whole workspace.
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

  /// Saves the parser's state until more of the head has arrived.
  @inline(never)
  private mutating func pause(_ workspace: inout ConnectionWorkspace, _ now: UInt64) {
    isParsed = true
    guard workspace.parser.hasOnlyEmptyLines(workspace.input.count) else {
      partial = PartialHead(workspace.parser)
      return
    }
    workspace.input.removeAll()
    // What looked like the start of a head was only an empty line.
    if phase == .head {
      phase = .idle
      deadline = now &+ rules.timeouts.idle
    }
  }

  /// Restores the parser's state of an incomplete head.
  @inline(never)
  mutating func resume(_ workspace: inout ConnectionWorkspace) {
    if let partial { workspace.parser = partial.parser }
    partial = nil
  }

  /// Begins a request, whose head is complete.
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
      // Nobody told this client that this is its last request: it may be sending the next one.
      if keepsAlive { lingers = true }
    }
  }

  // MARK: Answers

  /// Begins an answer, and returns what it tells the client about the connection. If `closing`, the connection ends after it.
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

  /// Records that `count` bytes of answers are ready to be sent.
  package mutating func wrote(_ count: UInt64) { produced &+= count }

  /// Waits for the answer, or for room for the body. No deadline applies until then.
  package mutating func wait() {
    phase = .working
    deadline = .max
  }

  /// Makes the server close the connection after the answers so far; the client may be sending more.
  mutating func closeAfterAnswers() {
    closesAfterAnswers = true
    lingers = true
    if body?.isWanted == false { body = nil }
  }

  // MARK: Input

  /// Records that there may be something to read.
  package mutating func becameReadable() { canRead = true }

  /// Records that the client has ended its side.
  package mutating func peerFinished() {
    canRead = true
    peerIsDone = true
  }

  /// Records that a read brought `count` bytes. `filled` says that the read filled all the room, so that more may be left.
  package mutating func received(
    _ count: Int, filled: Bool, _ now: UInt64
  ) {
    canRead = filled || peerIsDone
    isParsed = false
    if phase == .body || phase == .discarding { bodyArrived(count, now) }
  }

  /// Records that a read found nothing.
  package mutating func nothingToRead() { canRead = false }

  /// Records that a read found the end of the input.
  package mutating func inputEnded() {
    inputHasEnded = true
    canRead = false
  }

  // MARK: Output

  /// Records that there may be room to write.
  package mutating func becameWritable() { canWrite = true }

  /// Records that the kernel took `count` more bytes.
  package mutating func sent(_ count: Int) { sent &+= UInt64(count) }

  /// Records that the kernel has no more room.
  package mutating func outputIsFull() { canWrite = false }

  /// Ends a flush, and returns whether everything was sent. `unacknowledged` counts the bytes that the kernel has and the client
  /// hasn't acknowledged; it is evaluated only if needed.
  package mutating func flushed(_ now: UInt64, unacknowledged: @autoclosure () -> UInt64) -> Bool {
    guard unsent == 0 else {
      // In any other phase the answers are sent on the side, while a worker is busy or a body arrives.
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

/// The parser's state in an incomplete head.
final class PartialHead: Sendable {
  let parser: RequestParser

  init(_ parser: RequestParser) { self.parser = parser }
}
