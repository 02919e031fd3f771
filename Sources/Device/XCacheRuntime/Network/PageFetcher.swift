import System
import XCacheDevice

/// Makes requests on behalf of pages: with the engine's cookies, with redirects followed as in a browser, and at most six
/// at a time to one server, or a hundred to a server that takes them on one connection.
public final class PageFetcher: Sendable {
  /// How redirects are handled.
  public enum Redirects: Sendable {
    /// Redirects are followed, as a browser does for what a page loads.
    case follow
    /// A redirect is itself the answer, as for documents, so that the address changes.
    case giveBack
  }

  private let transport: any PageTransport
  let cookies: any CookieStore
  let gate: HostLimiter

  /// - Parameters:
  ///   - transport: sends the requests; one exchange at a time runs on each thread.
  ///   - cookies: the engine's cookies.
  ///   - connections: the most requests at a time to a server that takes only one on each connection.
  public init(_ transport: any PageTransport, cookies: any CookieStore, connections: Int = 6) {
    self.transport = transport
    self.cookies = cookies
    gate = HostLimiter(width: max(1, connections))
  }

  /// Tells the fetcher that the device changed networks: running requests go on as long as they can, later ones use new
  /// connections.
  public func networkChanged() { transport.networkChanged() }

  /// Sends `request` and delivers the answer, its head first.
  ///
  /// `begin` and `receive` run on a thread of the exchange's own, and return false to end it. Cookies are read from the
  /// engine and stored in it at every step; a `Cookie` among the request's headers is removed. If the calling task is
  /// cancelled, the exchange ends within a second.
  /// - Throws: `TransportError` if there is no complete answer.
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

  /// Sends one request; returns the next one if the answer is a redirect that is followed.
  private func step(
    _ request: NetworkRequest, _ redirects: Redirects, _ begin: @escaping @Sendable (NetworkHead) -> Bool,
    _ receive: @escaping @Sendable (RawSpan) -> Bool
  ) async throws(TransportError) -> NetworkRequest? {
    guard let server = RequestAddress(request.url)?.server else {
      throw TransportError(.other, "not an http or https address: \(request.url)")
    }
    var sent = request
    sent.headers.remove("cookie")
    let header = await cookies.header(for: request.url)
    request.observe(.sent(cookies: header, to: request.url))
    if let header { sent.headers.add("Cookie", header) }
    guard await gate.enter(server) else { throw TransportError(.stopped, "the caller ended it") }
    // The wait for its turn may have been long.
    guard !request.isCancelled() else {
      gate.leave(server)
      throw TransportError(.stopped, "the caller ended it")
    }
    sent.multiplexed = { [gate] in
      gate.setMultiplexed(server, $0)
      request.multiplexed($0)
    }
    let outcome = await send(sent, redirects, begin, receive)
    gate.leave(server)
    if let error = outcome.error { throw error }
    guard var next = outcome.next else { return nil }
    // The step's own closures belong to its server and its task.
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
        request.observe(.answered(head, from: request.url))
        storeCookies(of: head, from: request.url)
        if redirects == .follow, let next = Redirect(after: head, to: request) {
          outcome.next = next.request
          return rest.withLock { $0.begin(head, isHEAD: request.method == "HEAD") }
        }
        return begin(head)
      } receive: { bytes in
        outcome.next == nil ? receive(bytes) : rest.withLock { $0.accept(bytes.byteCount) }
      }
    } catch {
      // Nobody reads the body of a redirect, so it doesn't matter how it ends.
      if outcome.next == nil || request.isCancelled() { outcome.error = error }
    }
    return outcome
  }

  /// Stores an answer's cookies in the engine before anyone sees the answer, so that the next request sends them.
  private func storeCookies(of head: NetworkHead, from url: String) {
    let values = head.headers.values("set-cookie")
    guard !values.isEmpty else { return }
    // This is the exchange's own thread, so it may block.
    Task.waiting { [cookies] in await cookies.take(values, from: url) }
  }
}
