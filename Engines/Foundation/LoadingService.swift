import Foundation
import System
import XCacheRuntime

#if !canImport(Darwin)
  import FoundationNetworking
#endif

/// What all requests share: the runtime, and the session over which they are passed on.
final class LoadingService: Sendable {
  /// The one that takes requests; nil: none is taken.
  static let current = Locked<LoadingService?>(nil)

  let runtime: Runtime
  let progress: (@Sendable (URLSessionTask, Int64, Int64) -> Void)?
  let relay = Relay()
  private let requests: XCacheURLProtocol.Requests
  private let session: URLSession
  private let cookies: HTTPCookieStorage?

  /// The property of a request that was passed on.
  private static let mark = "xcache.passed"

  init(
    _ runtime: Runtime, _ requests: XCacheURLProtocol.Requests, _ network: URLSessionConfiguration,
    _ progress: (@Sendable (URLSessionTask, Int64, Int64) -> Void)?
  ) {
    self.runtime = runtime
    self.requests = requests
    self.progress = progress
    // A copy is made of it; what is changed here the app doesn't see.
    let classes = network.protocolClasses
    network.protocolClasses = (classes ?? []).filter { $0 != XCacheURLProtocol.self }
    session = URLSession(configuration: network, delegate: relay, delegateQueue: nil)
    network.protocolClasses = classes
    cookies = network.httpShouldSetCookies ? network.httpCookieStorage : nil
  }

  /// What `Cookie` says in a request that is passed on.
  func cookies(for request: URLRequest) -> String? {
    guard request.httpShouldHandleCookies, let url = request.url, let own = cookies?.cookies(for: url) else {
      return nil
    }
    return HTTPCookie.requestHeaderFields(with: own)["Cookie"].flatMap { $0.isEmpty ? nil : $0 }
  }

  // A session holds its delegate until it is told to let go.
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

  /// The task that carries a request on; whoever asks starts it.
  func task(for request: URLRequest, file: URL? = nil) -> URLSessionTask {
    let marked = Self.changed(request) { URLProtocol.setProperty(true, forKey: Self.mark, in: $0) }
    return file.map { session.uploadTask(with: marked, fromFile: $0) } ?? session.dataTask(with: marked)
  }

  /// A request as it was before it was marked, so that it may be taken again.
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
      headers: (request.allHTTPHeaderFields ?? [:]).map { ($0.key, $0.value) }, destination: .fetch)
  }
}
