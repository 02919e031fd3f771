import HTTP

/// Where a connection stands, when its time is over, and whether it lives on after an answer.
///
/// Pure: told what happened and when, it says what to do. Times are nanoseconds of one clock.
package struct ConnectionState: Sendable {
  package enum Phase: UInt8, Sendable {
    /// Between requests; nothing of the next one has arrived.
    case idle
    /// Part of a head has arrived.
    case head
    /// A worker makes the answer, or takes the body faster than it arrives; no time runs.
    case working
    /// A body is arriving.
    case body
    /// The client hasn't taken the answers yet.
    case writing
    /// The last answer is with the kernel; what the client still sends is dropped until it closes.
    case lingering
    case closed
  }

  package enum Expiry: Sendable, Equatable {
    /// The time isn't over.
    case none
    /// Close without a word.
    case close
    /// The same, but the last answer may still be on its way.
    case leave
    /// Answer 408, then close.
    case answer408
    /// Look whether the client has acknowledged more, then ask again.
    case checkProgress
  }

  package private(set) var phase = Phase.idle
  /// When the present phase is over; `.max`: never.
  package private(set) var deadline: UInt64
  package private(set) var requests = 0
  /// The connection ends when the answers so far are sent.
  package private(set) var closesAfterAnswers = false
  /// Bytes of the connection's answers that the client has acknowledged, when last looked at.
  private var acknowledged: UInt64 = 0

  package init(now: UInt64, timeouts: Timeouts) {
    deadline = now &+ timeouts.idle
  }

  /// The connection waits for a request of which nothing has arrived.
  package mutating func becomeIdle(_ now: UInt64, _ timeouts: Timeouts) {
    phase = .idle
    deadline = now &+ timeouts.idle
  }

  /// Part of a head is there; its time runs from its first byte.
  package mutating func waitForHead(_ now: UInt64, _ timeouts: Timeouts) {
    guard phase != .head else { return }
    phase = .head
    deadline = now &+ timeouts.head
  }

  /// A head is complete.
  package mutating func begin(keepAlive: Bool, limit: Int, draining: Bool) {
    requests &+= 1
    phase = .idle
    if !keepAlive || requests >= limit || draining { closesAfterAnswers = true }
  }

  /// What the next answer says about the connection.
  package func announcement(isHTTP11: Bool) -> ResponseWriter.Connection {
    closesAfterAnswers ? .close : isHTTP11 ? .open : .keepAlive
  }

  /// The connection ends when what was answered is sent.
  package mutating func closeAfterAnswers() { closesAfterAnswers = true }

  /// A worker is busy for this connection.
  package mutating func wait() {
    phase = .working
    deadline = .max
  }

  /// The body is waited for.
  package mutating func waitForBody(_ now: UInt64, _ timeouts: Timeouts) {
    guard phase != .body else { return }
    phase = .body
    deadline = now &+ timeouts.body
  }

  /// Bytes of the body arrived.
  package mutating func bodyArrived(_ count: Int, _ now: UInt64, _ timeouts: Timeouts) {
    guard phase == .body else { return }
    extend(by: UInt64(count), upTo: now &+ timeouts.body, timeouts)
  }

  /// The client's buffers are full.
  package mutating func waitForWriting(_ now: UInt64, _ timeouts: Timeouts) {
    guard phase != .writing else { return }
    phase = .writing
    deadline = now &+ timeouts.write
  }

  /// The client has acknowledged `total` bytes of this connection's answers so far.
  package mutating func progressed(_ total: UInt64, _ now: UInt64, _ timeouts: Timeouts) {
    guard total > acknowledged else { return }
    let count = total &- acknowledged
    acknowledged = total
    if phase == .writing || phase == .lingering { extend(by: count, upTo: now &+ timeouts.write, timeouts) }
  }

  /// The last answer is sent and the client may still be sending.
  package mutating func linger(_ now: UInt64, _ timeouts: Timeouts) {
    guard phase != .lingering else { return }
    phase = .lingering
    deadline = now &+ timeouts.linger
  }

  package mutating func close() {
    phase = .closed
    deadline = .max
  }

  /// What to do at `now`, when the deadline may be over.
  ///
  /// - Parameter checked: progress was looked at already.
  package func expiry(_ now: UInt64, checked: Bool = false) -> Expiry {
    guard now >= deadline else { return .none }
    switch phase {
    case .head, .body: return .answer408
    // Closed with input that nobody read, the kernel would throw away what the client hasn't taken.
    case .writing, .lingering: return checked ? .close : .checkProgress
    case .idle: return .leave
    case .working, .closed: return .none
    }
  }

  /// Each `minimumRate` bytes buy a second, and none is saved beyond `limit`.
  private mutating func extend(by count: UInt64, upTo limit: UInt64, _ timeouts: Timeouts) {
    let (nanoseconds, over) = count.multipliedReportingOverflow(by: Timeouts.second)
    let bought = over ? .max : nanoseconds / max(timeouts.minimumRate, 1)
    let (later, wrapped) = deadline.addingReportingOverflow(bought)
    deadline = min(wrapped ? .max : later, limit)
  }
}
