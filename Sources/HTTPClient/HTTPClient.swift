import System

/// Makes HTTP requests from any thread, each on a kept connection where there is one.
///
/// A call blocks its thread until the answer is whole. As many calls run at once as threads make them, each on
/// a handle of its own; the handle used last is used first, so that its connection is warm.
package final class HTTPClient: Sendable {
  // An `EasyHandle` is in this list or with one thread, never both.
  private let idle = Locked<[Idle]>([])

  package init() {}

  /// The answer to `request`, whatever its status; the body where `sink` says.
  /// - Throws: `HTTPClientError`, when there is no whole answer.
  package func send(
    _ request: HTTPRequest, into sink: HTTPSink = .memory(limit: 16 << 20)
  ) throws(HTTPClientError) -> HTTPReply {
    let taken = try take()
    defer { idle.withLock { $0.append(taken) } }
    return try taken.handle.perform(request, into: sink)
  }

  private func take() throws(HTTPClientError) -> Idle {
    if let warm = idle.withLock({ $0.popLast() }) { return warm }
    return Idle(try EasyHandle())
  }

  private struct Idle: @unchecked Sendable {  // only the thread that took it out touches the handle
    let handle: EasyHandle
    init(_ handle: EasyHandle) { self.handle = handle }
  }
}
