import Foundation
import System

#if !canImport(Darwin)
  import FoundationNetworking
#endif

/// The session whose connections requests use at the moment; it is replaced when the network changes.
final class SessionPool: Sendable {
  private struct Current {
    let session: URLSession
    let exchanges: Exchanges
  }

  private let make: @Sendable () -> Current
  private let current: Locked<Current>

  /// - Parameters:
  ///   - redirects: the most redirects that are followed.
  ///   - configuration: makes the configuration of each session.
  init(redirects: Int, _ configuration: @escaping @Sendable () -> URLSessionConfiguration) {
    make = {
      let exchanges = Exchanges(redirects: redirects)
      return Current(
        session: URLSession(configuration: configuration(), delegate: exchanges, delegateQueue: nil),
        exchanges: exchanges)
    }
    current = Locked(make())
  }

  // A session retains its delegate until it is invalidated.
  deinit { current.withLock { $0.session.finishTasksAndInvalidate() } }

  /// Starts a request. `stream` opens the body again if a connection turned out to be gone.
  func begin(
    _ request: URLRequest, stream: (@Sendable () -> InputStream?)? = nil
  ) -> (task: URLSessionDataTask, exchange: SessionExchange) {
    // Under the lock: an invalidated session accepts no tasks.
    current.withLock { current in
      let task = current.session.dataTask(with: request)
      return (task, current.exchanges.begin(task, stream: stream))
    }
  }

  /// Lets running requests go on, and makes later ones use new connections.
  func networkChanged() {
    let new = make()
    let old = current.withLock { current in
      defer { current = new }
      return current.session
    }
    old.finishTasksAndInvalidate()
  }
}
