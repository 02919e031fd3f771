import Foundation
import System

#if !canImport(Darwin)
  import FoundationNetworking
#endif

/// The answer to one request, on its way from the session's queue to the thread that waits for it.
final class SessionExchange: Sendable {
  enum Step {
    case head(HTTPURLResponse)
    case bytes(Data)
    case end((any Error)?)
  }

  private struct State {
    var steps: [Step] = []
    /// Bytes in `steps`.
    var waiting = 0
    var isSuspended = false
    var isMultiplexed = false
  }

  private let state = Monitor(State())

  /// The most bytes that wait, not counting pieces that are already on their way when the task is suspended.
  private static let limit = 1 << 20

  /// Whether it used a connection that others can use at the same time.
  var isMultiplexed: Bool { state.withLock { $0.isMultiplexed } }

  /// Blocks until the next step; nil if nothing happens for `duration`.
  func next(within duration: Duration, of task: URLSessionTask) -> Step? {
    guard let (step, resumes) = state.waiting(for: duration, { Self.take(&$0) }) else { return nil }
    if resumes { task.resume() }
    return step
  }

  private static func take(_ state: inout State) -> (Step, resumes: Bool)? {
    if state.steps.isEmpty { return nil }
    let step = state.steps.removeFirst()
    if case .bytes(let bytes) = step { state.waiting -= bytes.count }
    let resumes = state.isSuspended && state.waiting <= limit / 2
    if resumes { state.isSuspended = false }
    return (step, resumes)
  }

  /// Adds a piece of the body. If the disk is slower than the network, the task is suspended rather than filling the
  /// memory.
  ///
  /// Only on Apple's systems: with Foundation on Linux, where the tests run, a suspended task has once delivered more bytes
  /// than the server sent.
  func add(_ bytes: Data, of task: URLSessionTask) {
    state.broadcasting { state in
      state.steps.append(.bytes(bytes))
      state.waiting += bytes.count
      #if canImport(Darwin)
        guard state.waiting > Self.limit, !state.isSuspended else { return }
        state.isSuspended = true
        // Under the lock, so that the consuming thread can't resume the task before it is suspended.
        task.suspend()
      #endif
    }
  }

  func add(_ response: HTTPURLResponse) { state.broadcasting { $0.steps.append(.head(response)) } }

  func end(_ error: (any Error)?) { state.broadcasting { $0.steps.append(.end(error)) } }

  func noteMultiplexed() { state.withLock { $0.isMultiplexed = true } }
}

/// The session's delegate, which hands events to the exchange that they belong to.
///
/// Called serially on the session's own queue; no call blocks.
final class Exchanges: NSObject, URLSessionDataDelegate, Sendable {
  private struct Running {
    let exchange: SessionExchange
    var redirects = 0
    var stream: (@Sendable () -> InputStream?)?
  }

  private let running = Locked<[Int: Running]>([:])

  /// The most redirects that are followed.
  private let maxRedirects: Int

  init(redirects: Int) { maxRedirects = redirects }

  /// Starts `task`. `stream` opens the body again if a connection turned out to be gone.
  func begin(_ task: URLSessionTask, stream: (@Sendable () -> InputStream?)? = nil) -> SessionExchange {
    let exchange = SessionExchange()
    running.withLock { $0[task.taskIdentifier] = Running(exchange: exchange, stream: stream) }
    task.resume()
    return exchange
  }

  private func exchange(of task: URLSessionTask) -> SessionExchange? {
    running.withLock { $0[task.taskIdentifier]?.exchange }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    guard let response = response as? HTTPURLResponse, let exchange = exchange(of: dataTask) else {
      return completionHandler(.cancel)
    }
    exchange.add(response)
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange(of: dataTask)?.add(data, of: dataTask)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    let isOneTooMany = running.withLock { running -> Bool in
      guard var own = running[task.taskIdentifier] else { return true }
      own.redirects += 1
      running[task.taskIdentifier] = own
      return own.redirects > maxRedirects
    }
    // Without a request, the redirect itself becomes the answer, with a status that isn't success.
    completionHandler(isOneTooMany ? nil : request)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    running.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.exchange.end(error)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    let stream = running.withLock { $0[task.taskIdentifier]?.stream }
    completionHandler(stream?())
  }

  #if canImport(Darwin)
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
      guard let name = metrics.transactionMetrics.last?.networkProtocolName,
        name.hasPrefix("h2") || name.hasPrefix("h3")
      else { return }
      exchange(of: task)?.noteMultiplexed()
    }
  #endif
}
