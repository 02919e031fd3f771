/// The handshake before the first request, where there is one: when it goes on, and how long it may take.
extension HTTPConnection {
  /// What to do until both sides have their keys.
  mutating func nextOfHandshake(_ now: UInt64) -> Action {
    // A client that says nothing holds up the server's end no longer than one that takes no answer.
    if isDraining { deadline = min(deadline, now &+ rules.timeouts.linger) }
    return canRead && canWrite ? .handshake : .wait(until: deadline)
  }

  /// Client and server have their keys: requests follow.
  ///
  /// - Parameter more: something of them may be there already.
  package mutating func handshaken(more: Bool, _ now: UInt64) {
    phase = .idle
    deadline = now &+ rules.timeouts.idle
    // As after a read: the end of what the client sends has to be read, too.
    received(0, filled: more, now)
  }

  /// The client was told that there is no connection; what it still sends is dropped, so that it reads that.
  package mutating func handshakeFailed() {
    phase = .idle
    closeAfterAnswers()
  }
}
