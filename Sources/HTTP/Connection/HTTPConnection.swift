/// The server's end of one HTTP/1.1 connection, without I/O (RFC 9112).
///
/// It decides, and whoever drives it acts: `next` says what to do, and what came of it is told by the method that the
/// action names, until the answer is to wait. Then it is asked again when something happened. Times are nanoseconds of
/// one clock, the present one given with each call that needs it.
package struct HTTPConnection: Sendable {
  /// What is to be done next.
  package enum Action: Sendable, Equatable {
    /// Read behind the input: then `received`, `nothingToRead` or `inputEnded`.
    case read
    /// Read up to so many bytes of the body into the receiver's memory: then `receivedBody`, or as for `read`.
    case readBody(upTo: Int)
    /// These bytes of the input are a head, which the parser has read: then `discardBody` and `answer` or `wait`, or
    /// `receiveBody`.
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
    /// Send what was written: `sent` for what went, `outputIsFull` where no more does; at the end `flushed`, or
    /// `flushedInPart` if it `isBetweenAnswers`.
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

  package internal(set) var phase = Phase.idle
  /// When the present phase is over; `.max`: never.
  package internal(set) var deadline: UInt64
  /// How many heads there have been.
  package private(set) var requests = 0
  /// The connection ends when the answers so far are sent.
  package private(set) var closesAfterAnswers = false
  /// Closing at once could destroy the last answer: the client may still be sending (RFC 9112 §9.6).
  private var lingers = false
  /// No more requests than those that are on their way.
  private var isDraining = false

  /// The last read may have left something.
  var canRead = true
  /// The client sends no more: read until the end shows.
  private var peerIsDone = false
  /// The end was read.
  private(set) var inputHasEnded = false
  /// The parser has seen all of the input, which is the beginning of a head.
  private var isParsed = false
  /// How far that head was parsed.
  private var partial: PartialHead?

  /// The request at hand is a HEAD: its answer has no body.
  package private(set) var isHead = false
  /// It is of HTTP/1.1.
  private var isHTTP11 = true
  /// The body of the request at hand, wanted or not, until all of it is there.
  var body: IncomingBody?

  /// The last write found room.
  package private(set) var canWrite = true
  /// Bytes of answers so far.
  package private(set) var produced: UInt64 = 0
  /// How many of them the kernel has.
  package private(set) var sent: UInt64 = 0
  /// How many of them the client has acknowledged, when last looked at.
  private var acknowledged: UInt64 = 0

  /// A connection that was opened now.
  package init(_ workspace: borrowing ConnectionWorkspace, _ now: UInt64) {
    deadline = now &+ workspace.rules.timeouts.idle
  }

  /// Bytes of answers that the kernel doesn't have.
  package var unsent: UInt64 { produced &- sent }

  /// What to do next; the workspace's input is this connection's.
  package mutating func next(_ workspace: inout ConnectionWorkspace, _ now: UInt64) -> Action {
    switch phase {
    case .idle, .head: nextRequest(&workspace, now)
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

  private mutating func nextRequest(_ workspace: inout ConnectionWorkspace, _ now: UInt64) -> Action {
    if closesAfterAnswers { return end(&workspace) }
    let hasRequests = !workspace.input.isEmpty && !isParsed && body == nil
    if hasRequests, unsent < HTTPConnection.flushSize, let action = parse(&workspace) { return action }
    if unsent > 0 { return .flush }
    if body != nil {
      phase = .discarding
      deadline = now &+ workspace.rules.timeouts.body
      return discard(&workspace, now)
    }
    // A half head, or nothing: there is nobody to answer.
    if inputHasEnded { return .close }
    if partial != nil, phase != .head {
      phase = .head
      deadline = now &+ workspace.rules.timeouts.head
    }
    if canRead { return .read }
    if isDraining, phase == .idle { return .leave }
    return .wait(until: deadline)
  }

  /// Reads the head that the input begins with; nil where it isn't complete.
  private mutating func parse(_ workspace: inout ConnectionWorkspace) -> Action? {
    if let partial {
      workspace.parser = partial.parser
      self.partial = nil
    } else {
      workspace.parser.restart()
    }
    // By address: a span of the workspace's own memory would hold all of the workspace.
    let input = UnsafeRawBufferPointer(workspace.input.unused)
    switch workspace.parser.parse(input.bytes, limits: workspace.rules.request) {
    case .complete(let count):
      begin(workspace.parser.head, workspace.rules.requests)
      return .dispatch(workspace.input.remove(count))
    case .incomplete:
      isParsed = true
      if workspace.parser.hasOnlyEmptyLines(workspace.input.count) {
        workspace.input.removeAll()
      } else {
        partial = PartialHead(workspace.parser)
      }
      return nil
    case .failed(let error):
      isHead = workspace.parser.isHEAD(input.bytes)
      return .refuse(error.status)
    }
  }

  /// A head is complete.
  @inline(__always)
  private mutating func begin(_ head: borrowing RequestHead, _ limit: Int) {
    requests &+= 1
    phase = .idle
    isHead = head.method == .head
    isHTTP11 = head.isHTTP11
    if !head.keepAlive || requests >= limit || isDraining {
      closesAfterAnswers = true
      // Nobody told this client that it is its last request: it may be sending the next one.
      if head.keepAlive { lingers = true }
    }
  }

  // MARK: Answers

  /// An answer comes; says what it tells the client about the connection.
  ///
  /// - Parameter closing: the connection ends behind it.
  package mutating func answer(
    closing: Bool, _ workspace: borrowing ConnectionWorkspace, _ now: UInt64
  ) -> ResponseWriter.Connection {
    // An answer before the end of a body that is wanted: the rest isn't.
    let isEarly = body.map { $0.isWanted && !$0.isComplete } ?? false
    if closing || isDraining || isEarly { closeAfterAnswers() }
    if body?.isWanted == true { body = nil }
    phase = .idle
    deadline = now &+ workspace.rules.timeouts.idle
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
    _ count: Int, filled: Bool, _ workspace: borrowing ConnectionWorkspace, _ now: UInt64
  ) {
    canRead = filled || peerIsDone
    isParsed = false
    if phase == .body || phase == .discarding { bodyArrived(count, workspace, now) }
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

  /// All that was written is sent.
  package mutating func flushed(_ workspace: borrowing ConnectionWorkspace, _ now: UInt64) {
    guard phase == .writing else { return }
    phase = .idle
    deadline = now &+ workspace.rules.timeouts.idle
  }

  /// Has to wait where not all is sent: in another phase answers are sent beside it, while a worker is busy or a body arrives.
  package var isBetweenAnswers: Bool { phase == .idle || phase == .head }

  /// What could be sent between answers is sent, and some is left.
  ///
  /// - Parameter unacknowledged: bytes that the kernel has and the client not yet.
  package mutating func flushedInPart(
    unacknowledged: UInt64, _ workspace: borrowing ConnectionWorkspace, _ now: UInt64
  ) {
    progressed(unacknowledged, workspace, now)
    phase = .writing
    deadline = now &+ workspace.rules.timeouts.write
  }

  // MARK: The end

  /// The server stops: what is on its way is still answered, what has arrived included.
  package mutating func drain() {
    isDraining = true
    if phase == .idle { canRead = true }
  }

  /// Ends a connection whose answers are all sent, such that the client can read them.
  private mutating func end(_ workspace: inout ConnectionWorkspace) -> Action {
    if unsent > 0 { return .flush }
    let mayHaveMore = lingers || canRead || !workspace.input.isEmpty
    workspace.input.removeAll()
    return mayHaveMore && !inputHasEnded ? .shutdownSending : .close
  }

  /// Ends a connection without a request, of which the last answer may still be on its way.
  package mutating func leave(unacknowledged: UInt64) {
    closesAfterAnswers = true
    lingers = unacknowledged > 0
  }

  /// The connection is shut for sending: it lingers.
  package mutating func sendingEnded(
    unacknowledged: UInt64, _ workspace: borrowing ConnectionWorkspace, _ now: UInt64
  ) {
    progressed(unacknowledged, workspace, now)
    phase = .lingering
    deadline = now &+ workspace.rules.timeouts.linger
  }

  /// Drops what the client still sends.
  private func dropInput(_ workspace: inout ConnectionWorkspace) -> Action {
    workspace.input.removeAll()
    if inputHasEnded { return .close }
    return canRead ? .read : .wait(until: deadline)
  }

  /// Nothing can be sent or received any more: whether the connection is over, with nothing left to read.
  package var endsWithHangUp: Bool { phase == .working || phase == .writing }

  /// The connection is closed.
  package mutating func closed() {
    phase = .closed
    deadline = .max
  }

  // MARK: Time

  /// The deadline is over, or was once.
  ///
  /// - Parameter unacknowledged: bytes that the kernel has and the client not yet.
  package mutating func timedOut(
    unacknowledged: UInt64, _ workspace: inout ConnectionWorkspace, _ now: UInt64
  ) -> Action {
    guard now >= deadline else { return .wait(until: deadline) }
    switch phase {
    case .idle:
      // Closed with input that nobody read, the kernel would throw away what the client hasn't taken.
      leave(unacknowledged: unacknowledged)
    case .head:
      if let partial { workspace.parser = partial.parser }
      partial = nil
      isHead = workspace.parser.isHEAD(workspace.input.bytes)
      return .refuse(.requestTimeout)
    case .body:
      return .abandonBody(.requestTimeout)
    case .discarding:
      // Its request was answered already, and only its body is slow.
      closeAfterAnswers()
      phase = .idle
    case .lingering where unacknowledged == 0:
      return .close
    case .writing, .lingering:
      progressed(unacknowledged, workspace, now)
      return now >= deadline ? .close : .wait(until: deadline)
    case .working, .closed: break
    }
    return next(&workspace, now)
  }

  /// The client may have acknowledged more of the answers, which buys it time.
  private mutating func progressed(
    _ unacknowledged: UInt64, _ workspace: borrowing ConnectionWorkspace, _ now: UInt64
  ) {
    let total = sent &- min(unacknowledged, sent)
    guard total > acknowledged else { return }
    let count = total &- acknowledged
    acknowledged = total
    guard phase == .writing || phase == .lingering else { return }
    extend(by: count, upTo: now &+ workspace.rules.timeouts.write, workspace)
  }

  /// Bytes of a body arrived, which buys it time.
  mutating func bodyArrived(_ count: Int, _ workspace: borrowing ConnectionWorkspace, _ now: UInt64) {
    extend(by: UInt64(count), upTo: now &+ workspace.rules.timeouts.body, workspace)
  }

  /// Each `minimumRate` bytes buy a second, and none is saved beyond `limit`.
  private mutating func extend(
    by count: UInt64, upTo limit: UInt64, _ workspace: borrowing ConnectionWorkspace
  ) {
    let (nanoseconds, over) = count.multipliedReportingOverflow(by: Timeouts.second)
    let bought = over ? .max : nanoseconds / max(workspace.rules.timeouts.minimumRate, 1)
    let (later, wrapped) = deadline.addingReportingOverflow(bought)
    deadline = min(wrapped ? .max : later, limit)
  }
}

/// How far a head was parsed that hasn't arrived whole.
private final class PartialHead: Sendable {
  let parser: RequestParser

  init(_ parser: RequestParser) { self.parser = parser }
}
