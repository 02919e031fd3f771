import Foundation
import System

#if !canImport(Darwin)
  import FoundationNetworking
#endif

/// The session whose connections requests use now; another network gets another one.
final class SessionPool: Sendable {
  private struct Current {
    let session: URLSession
    let exchanges: Exchanges
  }

  private let make: @Sendable () -> Current
  private let current: Locked<Current>

  /// - Parameters:
  ///   - redirects: that are followed.
  ///   - configuration: of each session.
  init(redirects: Int, _ configuration: @escaping @Sendable () -> URLSessionConfiguration) {
    make = {
      let exchanges = Exchanges(redirects: redirects)
      return Current(
        session: URLSession(configuration: configuration(), delegate: exchanges, delegateQueue: nil),
        exchanges: exchanges)
    }
    current = Locked(make())
  }

  // A session holds its delegate until it is told to let go.
  deinit { current.withLock { $0.session.finishTasksAndInvalidate() } }

  /// Starts a request.
  /// - Parameter stream: gives its body once more, where a connection turned out to be gone.
  func begin(
    _ request: URLRequest, stream: (@Sendable () -> InputStream?)? = nil
  ) -> (task: URLSessionDataTask, exchange: SessionExchange) {
    // Under the lock: a session that was let go takes no more tasks.
    current.withLock { current in
      let task = current.session.dataTask(with: request)
      return (task, current.exchanges.begin(task, stream: stream))
    }
  }

  /// What is under way goes on; requests from now on take new connections.
  func networkChanged() {
    let new = make()
    let old = current.withLock { current in
      defer { current = new }
      return current.session
    }
    old.finishTasksAndInvalidate()
  }
}
