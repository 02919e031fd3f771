import Foundation
import System
import XCacheRuntime

#if !canImport(Darwin)
  import FoundationNetworking
#endif

/// The state that all requests share: the runtime, and the session that passes requests on.
final class LoadingService: Sendable {
  /// The service that takes requests; if nil, none are taken.
  static let current = Locked<LoadingService?>(nil)

  let runtime: Runtime
  let progress: (@Sendable (URLSessionTask, Int64, Int64) -> Void)?
  let relay = Relay()
  private let requests: XCacheURLProtocol.Requests
  private let session: URLSession
  private let cookies: HTTPCookieStorage?

  /// The property that marks a request that was passed on.
  private static let mark = "xcache.passed"

  init(
    _ runtime: Runtime, _ requests: XCacheURLProtocol.Requests, _ network: URLSessionConfiguration,
    _ progress: (@Sendable (URLSessionTask, Int64, Int64) -> Void)?
  ) {
    self.runtime = runtime
    self.requests = requests
    self.progress = progress
    // The session copies the configuration, so the app doesn't see this temporary change.
    let classes = network.protocolClasses
    network.protocolClasses = (classes ?? []).filter { $0 != XCacheURLProtocol.self }
    session = URLSession(configuration: network, delegate: relay, delegateQueue: nil)
    network.protocolClasses = classes
    cookies = network.httpShouldSetCookies ? network.httpCookieStorage : nil
  }

  /// Returns the value of `Cookie` in a request that is passed on.
  func cookies(for request: URLRequest) -> String? {
    guard request.httpShouldHandleCookies, let url = request.url, let own = cookies?.cookies(for: url) else {
      return nil
    }
    return HTTPCookie.requestHeaderFields(with: own)["Cookie"].flatMap { $0.isEmpty ? nil : $0 }
  }

  // A session retains its delegate until it is invalidated.
  deinit { session.finishTasksAndInvalidate() }

  func takes(_ request: URLRequest) -> Bool {
    guard URLProtocol.property(forKey: Self.mark, in: request) == nil, let url = request.url,
      let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https"
    else { return false }
    let asked = PageRequest(request)
    switch requests {
    case .listed: return runtime.lists(asked) || runtime.mayBePrefetched(asked)
    case .ofHosts: return runtime.isOfHosts(asked)
    }
  }

  /// Creates the task that passes a request on; the caller starts it.
  func task(for request: URLRequest, file: URL? = nil) -> URLSessionTask {
    let marked = Self.changed(request) { URLProtocol.setProperty(true, forKey: Self.mark, in: $0) }
    return file.map { session.uploadTask(with: marked, fromFile: $0) } ?? session.dataTask(with: marked)
  }

  /// Returns a request without the mark, so that it can be taken again.
  static func unmarked(_ request: URLRequest) -> URLRequest {
    changed(request) { URLProtocol.removeProperty(forKey: mark, in: $0) }
  }

  private static func changed(_ request: URLRequest, _ change: (NSMutableURLRequest) -> Void) -> URLRequest {
    guard let copy = request._bridgeToObjectiveC().mutableCopy() as? NSMutableURLRequest else {
      return request
    }
    change(copy)
    return URLRequest._unconditionallyBridgeFromObjectiveC(copy)
  }
}

extension PageRequest {
  init(_ request: URLRequest) {
    self.init(
      request.url?.absoluteString ?? "", method: request.httpMethod ?? "GET",
      headers: HTTPFields(request.allHTTPHeaderFields ?? [:]), destination: .fetch)
  }
}
