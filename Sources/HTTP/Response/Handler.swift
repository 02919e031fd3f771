/// Decides what is answered. One per event loop, used on that loop's thread only, so it may keep state.
package protocol Handler: AnyObject {
  /// Answers a request; must not block.
  func handle(_ request: borrowing Request) -> Answer
  /// Whether the blocking work for a request is done by the workers that are kept for some: whatever is asked for
  /// besides, it can't keep those busy.
  func usesReservedWorkers(_ request: borrowing Request) -> Bool
}

extension Handler {
  /// No request has workers of its own where a handler says nothing else.
  package func usesReservedWorkers(_ request: borrowing Request) -> Bool { false }
}

/// What a handler makes of a request.
package enum Answer: Sendable {
  /// The answer is ready.
  case now(Response)
  /// The answer takes blocking work, which runs on the worker pool; the connection waits for it.
  case later(@Sendable () -> Response)
  /// The answer comes from elsewhere: the closure has it made and returns at once; what it is given takes the answer, once,
  /// on any thread. The connection waits for it, and no worker does.
  case deferred(@Sendable (_ answer: @escaping @Sendable (Response) -> Void) -> Void)
  /// The request's body goes to a receiver that lives on the worker pool; more than `limit` bytes are 413.
  case receive(limit: UInt64, @Sendable () -> any BodyReceiver)

  /// Answers a small body as a whole, on the worker pool.
  package static func collect(
    limit: Int, _ answer: @escaping @Sendable ([UInt8]) -> Response
  ) -> Answer {
    .receive(limit: UInt64(max(limit, 0))) { CollectingReceiver(answer) }
  }
}

/// Takes a request's body as it arrives, on threads where blocking is allowed.
///
/// The calls of one receiver come in order and one at a time, but not always on the same thread. After the
/// last call, which is `finish` or `abort`, the receiver is dropped.
package protocol BodyReceiver: AnyObject {
  /// Takes the next bytes; false when no more are wanted, and then `finish` gives the answer and the connection
  /// is closed after it. No bytes are a question: the client asks before it sends any (`Expect: 100-continue`).
  func receive(_ bytes: RawSpan) -> Bool
  /// Gives the answer, once the whole body was received or `receive` said stop.
  func finish() -> Response
  /// Drops what was half received: the client went away, was too slow, or sent too much.
  func abort()
}

/// Keeps a small body in memory and answers it whole.
package final class CollectingReceiver: BodyReceiver {
  private var collected: [UInt8] = []
  private let answer: @Sendable ([UInt8]) -> Response

  /// A receiver whose body `answer` gets, once it is complete.
  package init(_ answer: @escaping @Sendable ([UInt8]) -> Response) { self.answer = answer }

  /// Keeps the bytes; the limit is held to by the connection.
  package func receive(_ bytes: RawSpan) -> Bool {
    bytes.withUnsafeBytes { collected.append(contentsOf: $0) }
    return true
  }

  /// The answer to what was collected.
  package func finish() -> Response { answer(collected) }
  /// Nothing has to be undone.
  package func abort() {}
}
