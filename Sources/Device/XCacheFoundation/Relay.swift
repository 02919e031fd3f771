import Foundation
import System

#if !canImport(Darwin)
  import FoundationNetworking
#endif

/// The delegate of the session that passes requests on: hands events to the request that they belong to, which it retains
/// until the task is over.
final class Relay: NSObject, URLSessionDataDelegate, Sendable {
  private let running = Locked<[Int: Loading]>([:])

  /// The number of running requests.
  var count: Int { running.withLock { $0.count } }

  /// Starts a task.
  func begin(_ task: URLSessionTask, for loading: Loading) {
    running.withLock { $0[task.taskIdentifier] = loading }
    task.resume()
  }

  private func loading(of task: URLSessionTask) -> Loading? {
    running.withLock { $0[task.taskIdentifier] }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    loading(of: dataTask)?.received(response)
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    loading(of: dataTask)?.received(data)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    running.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.ended(task, error)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    loading(of: task)?.sent(totalBytesSent, of: totalBytesExpectedToSend)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    #if canImport(Darwin)
      // The client decides; to follow, it sends a new request.
      let loading = running.withLock { $0.removeValue(forKey: task.taskIdentifier) }
      loading?.redirected(to: LoadingService.unmarked(request), by: response)
      completionHandler(nil)
      task.cancel()
    #else
      // Treat the redirect itself as the answer, and follow it by our own rules: Foundation's lose the bodies of 307 and
      // 308.
      completionHandler(nil)
    #endif
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    #if canImport(Darwin)
      guard let loading = loading(of: task) else { return completionHandler(.performDefaultHandling, nil) }
      loading.asked(challenge, completionHandler)
    #else
      // The answer with its 401 has arrived, and Foundation turns it into a challenge for the client as well.
      running.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.ended(task, nil)
      completionHandler(.cancelAuthenticationChallenge, nil)
    #endif
  }
}
