/// How a connection ends, on a timeout or when the server stops, without losing an answer.
extension HTTPConnection {
  /// Begins to drain the connection: requests in progress, and those that have already arrived, are still answered.
  package mutating func drain() {
    isDraining = true
    if phase == .idle { canRead = true }
  }

  /// Ends a connection whose answers are all sent, so that the client can still read them.
  mutating func end(_ workspace: inout ConnectionWorkspace) -> Action {
    if unsent > 0 { return .flush }
    let mayHaveMore = lingers || canRead || !workspace.input.isEmpty
    workspace.input.removeAll()
    return mayHaveMore && !inputHasEnded ? .shutdownSending : .close
  }

  /// Ends a connection between requests; its last answer may still be in transit.
  package mutating func leave(unacknowledged: UInt64) {
    closesAfterAnswers = true
    lingers = unacknowledged > 0
  }

  /// Records that the sending side was shut down: the connection lingers.
  package mutating func sendingEnded(
    unacknowledged: UInt64, _ now: UInt64
  ) {
    progressed(unacknowledged, now)
    phase = .lingering
    deadline = now &+ rules.timeouts.linger
  }

  /// Drops what the client still sends.
  func dropInput(_ workspace: inout ConnectionWorkspace) -> Action {
    workspace.input.removeAll()
    if inputHasEnded { return .close }
    return canRead ? .read : .wait(until: deadline)
  }

  /// Whether the connection is over once nothing can be sent or received, with nothing left to read.
  package var endsWithHangUp: Bool { phase == .working || phase == .writing }

  /// Records that the connection was closed.
  package mutating func closed() {
    phase = .closed
    isClosed = true
    deadline = .max
  }

  // MARK: Time

  /// Returns what to do when the deadline may have passed. `unacknowledged` counts the bytes that the kernel has and the client
  /// hasn't acknowledged.
  package mutating func timedOut(
    unacknowledged: UInt64, _ workspace: inout ConnectionWorkspace, _ now: UInt64
  ) -> Action {
    guard now >= deadline else { return .wait(until: deadline) }
    switch phase {
    case .handshaking:
      return .close
    case .idle:
      // If the connection were closed with unread input, the kernel would drop what the client hasn't received yet.
      leave(unacknowledged: unacknowledged)
    case .head:
      resume(&workspace)
      isHead = workspace.parser.isHEAD(workspace.input.bytes)
      return .refuse(.requestTimeout)
    case .body:
      return .abandonBody(.requestTimeout)
    case .discarding:
      // The request has already been answered; only its body is slow.
      closeAfterAnswers()
      phase = .idle
    case .lingering where unacknowledged == 0:
      return .close
    case .writing, .lingering:
      progressed(unacknowledged, now)
      return now >= deadline ? .close : .wait(until: deadline)
    case .working:
      // Nobody has waited for this answer for a while.
      return .close
    case .closed: break
    }
    return next(&workspace, now)
  }

  /// Extends the deadline if the client has acknowledged more of the answers.
  mutating func progressed(
    _ unacknowledged: UInt64, _ now: UInt64
  ) {
    let total = sent &- min(unacknowledged, sent)
    guard total > acknowledged else { return }
    let count = total &- acknowledged
    acknowledged = total
    guard phase == .writing || phase == .lingering else { return }
    extend(by: count, upTo: now &+ rules.timeouts.write)
  }

  /// Extends the deadline for bytes of a body that arrived.
  mutating func bodyArrived(_ count: Int, _ now: UInt64) {
    extend(by: UInt64(count), upTo: now &+ rules.timeouts.body)
  }

  /// Adds a second per `minimumRate` bytes, but never past `limit`.
  private mutating func extend(by count: UInt64, upTo limit: UInt64) {
    let (nanoseconds, over) = count.multipliedReportingOverflow(by: Timeouts.second)
    let bought = over ? .max : nanoseconds / max(rules.timeouts.minimumRate, 1)
    let (later, wrapped) = deadline.addingReportingOverflow(bought)
    deadline = min(wrapped ? .max : later, limit)
  }
}
