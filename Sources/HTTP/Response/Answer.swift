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
