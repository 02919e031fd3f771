/// How a connection ends, when its time is over, or the server stops, such that no answer is lost on the way.
extension HTTPConnection {
  /// The server stops: what is on its way is still answered, what has arrived included.
  package mutating func drain() {
    isDraining = true
    if phase == .idle { canRead = true }
  }

  /// Ends a connection whose answers are all sent, such that the client can read them.
  mutating func end(_ workspace: inout ConnectionWorkspace) -> Action {
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

  /// Nothing can be sent or received any more: whether the connection is over, with nothing left to read.
  package var endsWithHangUp: Bool { phase == .working || phase == .writing }

  /// The connection is closed.
  package mutating func closed() {
    phase = .closed
    isClosed = true
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
    case .handshaking:
      return .close
    case .idle:
      // Closed with input that nobody read, the kernel would throw away what the client hasn't taken.
      leave(unacknowledged: unacknowledged)
    case .head:
      resume(&workspace)
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
      progressed(unacknowledged, now)
      return now >= deadline ? .close : .wait(until: deadline)
    case .working, .closed: break
    }
    return next(&workspace, now)
  }

  /// The client may have acknowledged more of the answers, which buys it time.
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

  /// Bytes of a body arrived, which buys it time.
  mutating func bodyArrived(_ count: Int, _ now: UInt64) {
    extend(by: UInt64(count), upTo: now &+ rules.timeouts.body)
  }

  /// Each `minimumRate` bytes buy a second, and none is saved beyond `limit`.
  private mutating func extend(by count: UInt64, upTo limit: UInt64) {
    let (nanoseconds, over) = count.multipliedReportingOverflow(by: Timeouts.second)
    let bought = over ? .max : nanoseconds / max(rules.timeouts.minimumRate, 1)
    let (later, wrapped) = deadline.addingReportingOverflow(bought)
    deadline = min(wrapped ? .max : later, limit)
  }
}
