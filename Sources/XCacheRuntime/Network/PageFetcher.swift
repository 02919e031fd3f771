import System
import XCacheClient

/// Makes requests on behalf of pages: with the engine's cookies, redirects as a browser follows them, and six at most to one
/// server at a time, or a hundred to one that takes them on one connection.
public final class PageFetcher: Sendable {
  /// What becomes of redirects.
  public enum Redirects: Sendable {
    /// They are followed, as a browser does for what a page loads.
    case follow
    /// They are the answer, as for documents, so that the address changes.
    case giveBack
  }

  private let transport: any PageTransport
  let cookies: any CookieStore
  let gate: HostLimiter

  /// - Parameters:
  ///   - transport: makes one exchange at a time on each thread.
  ///   - cookies: the engine's.
  ///   - connections: requests at a time to one server that takes but one on each connection.
  public init(_ transport: any PageTransport, cookies: any CookieStore, connections: Int = 6) {
    self.transport = transport
    self.cookies = cookies
    gate = HostLimiter(width: max(1, connections))
  }

  /// The device has another network: what is under way goes on as far as it gets, requests from now on take new connections.
  public func networkChanged() { transport.networkChanged() }

  /// Sends `request` and hands the answer over, its head first.
  ///
  /// `begin` and `receive` run on a thread of the exchange's own, and give false to end it. Cookies come from the engine
  /// and go to it at every step; a `Cookie` among the request's headers is taken out. Where the calling task is cancelled, the
  /// exchange ends within a second.
  /// - Throws: `TransportError`, where there is no whole answer.
  public func fetch(
    _ request: NetworkRequest, redirects: Redirects = .follow,
    begin: @escaping @Sendable (NetworkHead) -> Bool, receive: @escaping @Sendable (RawSpan) -> Bool
  ) async throws(TransportError) {
    var request = request
    for _ in 0...Redirect.limit {
      let step = try await step(request, redirects, begin, receive)
      guard let next = step else { return }
      request = next
    }
    throw TransportError(.other, "\(request.url): more than \(Redirect.limit) redirects")
  }

  /// One request and its answer; gives the next one after a redirect that is followed.
  private func step(
    _ request: NetworkRequest, _ redirects: Redirects, _ begin: @escaping @Sendable (NetworkHead) -> Bool,
    _ receive: @escaping @Sendable (RawSpan) -> Bool
  ) async throws(TransportError) -> NetworkRequest? {
    guard let server = RequestAddress(request.url)?.server else {
      throw TransportError(.other, "not an http or https address: \(request.url)")
    }
    var sent = request
    sent.headers.removeAll { $0.name.lowercased() == "cookie" }
    if let header = await cookies.header(for: request.url) { sent.headers.append(("Cookie", header)) }
    guard await gate.enter(server) else { throw TransportError(.stopped, "the caller ended it") }
    // Its turn may have been long in coming.
    guard !request.isCancelled() else {
      gate.leave(server)
      throw TransportError(.stopped, "the caller ended it")
    }
    sent.multiplexed = { [gate] in
      gate.isMultiplexed(server, $0)
      request.multiplexed($0)
    }
    let outcome = await send(sent, redirects, begin, receive)
    gate.leave(server)
    if let error = outcome.error { throw error }
    guard var next = outcome.next else { return nil }
    // Those of the step were about its own server and its own task.
    (next.multiplexed, next.isCancelled) = (request.multiplexed, request.isCancelled)
    return next
  }

  private struct Outcome: Sendable {
    var next: NetworkRequest?
    var error: TransportError?
  }

  private func send(
    _ request: NetworkRequest, _ redirects: Redirects, _ begin: @escaping @Sendable (NetworkHead) -> Bool,
    _ receive: @escaping @Sendable (RawSpan) -> Bool
  ) async -> Outcome {
    let isGone = Locked(false)
    var request = request
    let isCancelled = request.isCancelled
    request.isCancelled = { isGone.withLock { $0 } || isCancelled() }
    let sent = request
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let run: @Sendable () -> Void = {
          continuation.resume(returning: self.exchange(sent, redirects, begin, receive))
        }
        if (try? OSThread(name: "page request", run)) == nil {
          continuation.resume(
            returning: Outcome(error: TransportError(.other, "the system has no thread left")))
        }
      }
    } onCancel: {
      isGone.withLock { $0 = true }
    }
  }

  private func exchange(
    _ request: NetworkRequest, _ redirects: Redirects, _ begin: (NetworkHead) -> Bool,
    _ receive: (RawSpan) -> Bool
  ) -> Outcome {
    var outcome = Outcome()
    var sent = request
    let rest = Locked(RedirectBody())
    sent.followsRedirects = redirects == .follow
    sent.isCancelled = { request.isCancelled() || rest.withLock { $0.isOver } }
    do throws(TransportError) {
      try transport.send(sent) { head in
        takeCookies(of: head, from: request.url)
        if redirects == .follow, let next = Redirect(after: head, to: request) {
          outcome.next = next.request
          return rest.withLock { $0.begins(head, isHEAD: request.method == "HEAD") }
        }
        return begin(head)
      } receive: { bytes in
        outcome.next == nil ? receive(bytes) : rest.withLock { $0.takes(bytes.byteCount) }
      }
    } catch {
      // Nobody reads the body of a redirect, nor minds how it ends.
      if outcome.next == nil || request.isCancelled() { outcome.error = error }
    }
    return outcome
  }

  /// Gives an answer's cookies to the engine before anybody learns of the answer: what is asked for next sends them.
  private func takeCookies(of head: NetworkHead, from url: String) {
    let values = head.values("set-cookie")
    guard !values.isEmpty else { return }
    // On the exchange's own thread.
    Task.waiting { [cookies] in await cookies.take(values, from: url) }
  }
}
