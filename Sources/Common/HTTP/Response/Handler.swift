/// Answers requests. Each event loop has its own, used only on that loop's thread, so it may keep state.
package protocol Handler: AnyObject {
  /// Answers a request; must not block.
  func handle(_ request: borrowing Request) -> Answer
  /// Returns how the blocking work for a request is queued; called only for requests that need some.
  func scheduling(of request: borrowing Request) -> Scheduling
}

extension Handler {
  /// By default, all requests are open to anyone, and addresses take turns.
  package func scheduling(of request: borrowing Request) -> Scheduling {
    Scheduling(.open, holder: request.peer.holder.hashValue)
  }
}

/// A handler's answer to a request.
package enum Answer: Sendable {
  /// The answer is ready.
  case now(Response)
  /// The answer needs blocking work, which runs on a worker (`Scheduling`); the connection waits for it.
  case later(@Sendable () -> Response)
  /// The answer comes from elsewhere. The closure starts that and returns at once; the callback it gets takes the answer, once,
  /// on any thread. The connection waits for it, and no worker does.
  case deferred(@Sendable (_ answer: @escaping @Sendable (Response) -> Void) -> Void)
  /// The same, for an answer that costs something until it is made: the closure returns how to give it up, which is called
  /// once the client has ended its side of the connection.
  case abandonable(
    @Sendable (_ answer: @escaping @Sendable (Response) -> Void) -> @Sendable () -> Void)
  /// The request's body goes to a receiver, which runs on the worker pool; more than `limit` bytes is a 413.
  case receive(limit: UInt64, @Sendable () -> any BodyReceiver)

  /// Collects a small body and answers it on the worker pool.
  package static func collect(
    limit: Int, _ answer: @escaping @Sendable ([UInt8]) -> Response
  ) -> Answer {
    .receive(limit: UInt64(max(limit, 0))) { CollectingReceiver(answer) }
  }
}

/// Receives a request's body as it arrives, on threads where blocking is allowed.
///
/// The calls to one receiver are made in order and one at a time, but not always on the same thread. After the last one,
/// `finish` or `abort`, the receiver is released.
package protocol BodyReceiver: AnyObject {
  /// Receives the next bytes. Returns false if it wants no more; then `finish` returns the answer, and the connection is
  /// closed after it. No bytes mean that the client asks before it sends any (`Expect: 100-continue`).
  func receive(_ bytes: RawSpan) -> Bool
  /// Returns the answer, after the whole body was received or `receive` returned false.
  func finish() -> Response
  /// Discards a partly received body: the client went away, was too slow, or sent too much.
  func abort()
}

/// Collects a small body in memory and answers it as a whole.
package final class CollectingReceiver: BodyReceiver {
  private var collected: [UInt8] = []
  private let answer: @Sendable ([UInt8]) -> Response

  /// Creates a receiver that passes the complete body to `answer`.
  package init(_ answer: @escaping @Sendable ([UInt8]) -> Response) { self.answer = answer }

  /// Appends the bytes; the connection enforces the limit.
  package func receive(_ bytes: RawSpan) -> Bool {
    bytes.withUnsafeBytes { collected.append(contentsOf: $0) }
    return true
  }

  /// Returns the answer to the collected body.
  package func finish() -> Response { answer(collected) }
  /// Does nothing.
  package func abort() {}
}
