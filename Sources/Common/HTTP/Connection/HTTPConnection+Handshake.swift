/// The handshake before the first request, if there is one: when it continues, and its time limit.
extension HTTPConnection {
  /// Returns the next action until the handshake is complete.
  mutating func nextOfHandshake(_ now: UInt64) -> Action {
    // While draining, a silent client delays the server's end no longer than one that doesn't take its answer.
    if isDraining { deadline = min(deadline, now &+ rules.timeouts.linger) }
    return canRead && canWrite ? .handshake : .wait(until: deadline)
  }

  /// Records that the handshake is complete, and requests follow. `more` says that some may already have been read.
  package mutating func handshaken(more: Bool, _ now: UInt64) {
    phase = .idle
    deadline = now &+ rules.timeouts.idle
    // As after a read: the end of the input has to be noticed, too.
    received(0, filled: more, now)
  }

  /// Records that the handshake failed and the client was told; further input is dropped, so that it can read that.
  package mutating func handshakeFailed() {
    phase = .idle
    closeAfterAnswers()
  }
}
