import HTTP
import System

/// Makes HTTP requests from any thread, each on an idle connection if there is one.
///
/// A call blocks its thread until the response is complete. As many calls run at once as threads make them, each on a
/// handle of its own; the handle used last is reused first, since its connection is warm.
package final class HTTPClient: Sendable {
  // An `EasyHandle` is either in this list or used by one thread, never both.
  private let idle: Locked<State>
  private let authorities: String?
  private let trace: (@Sendable (String) -> Void)?
  private let retrying: (@Sendable (String) -> Void)?

  private struct State {
    var handles: [Idle] = []
    var sleep: SleepWatch
  }

  /// When a retry was last reported, in monotonic nanoseconds.
  private let reported = Locked<UInt64?>(nil)

  /// The minimum time between two reports of retries, in nanoseconds: many threads may be waiting for the same server.
  private static let reportPause: UInt64 = 1_000_000_000

  /// - Parameters:
  ///   - authorities: a PEM file of the certificates to trust if a request names none; if nil, the system's.
  ///   - trace: called with a description of each completed exchange: `GET https://… 200, 12 ms`.
  ///   - retrying: called with a message when a request failed and is retried, at most once a second.
  package convenience init(
    authorities: String? = nil, trace: (@Sendable (String) -> Void)? = nil,
    retrying: (@Sendable (String) -> Void)? = nil
  ) {
    self.init(authorities, trace, retrying, slept: Clock.sleptMilliseconds)
  }

  init(
    _ authorities: String? = nil, _ trace: (@Sendable (String) -> Void)? = nil,
    _ retrying: (@Sendable (String) -> Void)? = nil, slept: @escaping @Sendable () -> Int64
  ) {
    idle = Locked(State(sleep: SleepWatch(slept)))
    self.authorities = authorities
    self.trace = trace
    self.retrying = retrying
  }

  /// Reports that a request failed and is retried; for callers with a retry policy. `server` names the server in the
  /// message.
  package func reportRetry(of server: String, after outcome: RetryPolicy.Outcome, in milliseconds: Int) {
    guard let retrying else { return }
    let now = Clock.monotonicNanoseconds()
    let isDue = reported.withLock { last in
      if let last, now < last &+ Self.reportPause { return false }
      last = now
      return true
    }
    guard isDue else { return }
    let tenths = (milliseconds + 99) / 100
    retrying("\(server): \(outcome); trying again in \(tenths / 10).\(tenths % 10) s")
  }

  /// Sends `request` and returns the response, whatever its status; the body goes to `sink`.
  /// - Throws: `HTTPClientError` if there is no complete response.
  package func send(
    _ request: HTTPRequest, into sink: HTTPSink = .memory(limit: 16 << 20)
  ) throws(HTTPClientError) -> HTTPReply {
    let taken = try take()
    defer { idle.withLock { $0.handles.append(taken) } }
    var request = request
    request.authorities = request.authorities ?? authorities
    guard let trace else { return try Self.perform(request, on: taken.handle, into: sink) }
    let start = Clock.monotonicNanoseconds()
    var outcome = ""
    defer {
      let milliseconds = (Clock.monotonicNanoseconds() - start) / 1_000_000
      trace("\(request.method) \(request.url): \(outcome), \(milliseconds) ms")
    }
    do {
      let reply = try Self.perform(request, on: taken.handle, into: sink)
      outcome = "\(reply.status)"
      return reply
    } catch {
      outcome = "\(error)"
      throw error
    }
  }

  private static func perform(
    _ request: HTTPRequest, on handle: EasyHandle, into sink: HTTPSink
  ) throws(HTTPClientError) -> HTTPReply {
    try handle.repeating(request) { request throws(HTTPClientError) in
      try handle.perform(request, into: sink)
    }
  }

  private func take() throws(HTTPClientError) -> Idle {
    let (warm, old) = idle.withLock { state -> (Idle?, [Idle]) in
      guard state.sleep.hasSlept() else { return (state.handles.popLast(), []) }
      defer { state.handles = [] }
      return (nil, state.handles)
    }
    // Close their connections outside the lock.
    withExtendedLifetime(old) {}
    if let warm { return warm }
    return Idle(try EasyHandle())
  }

  private struct Idle: @unchecked Sendable {  // only the thread that took it out touches the handle
    let handle: EasyHandle
    init(_ handle: EasyHandle) { self.handle = handle }
  }
}

/// The response of a server.
package struct HTTPReply: Equatable, Sendable {
  /// The head, that of the last response if there were redirects.
  package let head: HTTPHead
  /// The body, decoded if the request asked for it; empty if a sink took it.
  package let body: [UInt8]
  /// Whether the connection takes several requests at once, as with HTTP/2.
  package var isMultiplexed = false

  package init(_ head: HTTPHead, body: [UInt8] = []) {
    self.head = head
    self.body = body
  }

  /// The status code.
  package var status: Int { head.status }
  /// The header fields in the order received.
  package var fields: HTTPFields { head.fields }

  /// Whether the status is between 200 and 299.
  package var isSuccess: Bool { (200..<300).contains(status) }

  /// The seconds in `Retry-After`, if it has that form.
  package var retryAfter: Int? { head.retryAfter }
}
