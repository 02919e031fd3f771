import Foundation
import System
import XCacheRuntime

#if !canImport(Darwin)
  import FoundationNetworking
#endif

/// Answers the requests of an app's own `URLSession`s from the device, and passes on those that it can't answer.
///
///     XCacheURLProtocol.start(runtime)
///     let configuration = URLSessionConfiguration.default
///     XCacheURLProtocol.add(to: configuration)
///     let session = URLSession(configuration: configuration)
///
/// It only takes requests for listed files and for calls sent ahead of pages; all others are handled as if it weren't
/// there. If told to take every request for the app's hosts, it passes on those it can't answer, bodies included, over a
/// session of its own, and marks them so that it doesn't take them twice.
///
/// On Apple's systems the app handles redirects, and challenges such as whether to trust a server. Foundation on Linux
/// supports neither: there redirects are followed here, as a browser does, and certificates are checked. Nor does it accept
/// the file of a download: download tasks whose requests are taken fail with `URLError.unsupportedURL`.
public final class XCacheURLProtocol: URLProtocol {
  /// The requests to take.
  public enum Requests: Hashable, Sendable {
    /// Requests for files that the manifest lists, and for calls that were sent ahead of pages.
    case listed
    /// All requests for hosts that the app named.
    case ofHosts
  }

  /// Only used in calls by the system to this object, which come one after another.
  private var loading: Loading?

  /// Starts answering requests.
  ///
  /// - Parameters:
  ///   - runtime: answers the requests.
  ///   - requests: the requests to take.
  ///   - network: configures the session that passes requests on, with its cookies, proxies and headers.
  ///   - progress: called with the number of bytes of a body that were sent, and the total as far as it is known.
  public static func start(
    _ runtime: Runtime, takes requests: Requests = .listed, network: URLSessionConfiguration = .default,
    progress: (@Sendable (_ task: URLSessionTask, _ sent: Int64, _ total: Int64) -> Void)? = nil
  ) {
    let service = LoadingService(runtime, requests, network, progress)
    LoadingService.current.withLock { $0 = service }
  }

  /// Stops taking requests; those already taken are completed, after which the runtime is released.
  public static func stop() { LoadingService.current.withLock { $0 = nil } }

  /// Registers this protocol with a configuration, ahead of all others.
  public static func add(to configuration: URLSessionConfiguration) {
    let others = (configuration.protocolClasses ?? []).filter { $0 != XCacheURLProtocol.self }
    configuration.protocolClasses = [XCacheURLProtocol.self] + others
  }

  /// Whether a request is taken.
  public override class func canInit(with request: URLRequest) -> Bool {
    LoadingService.current.withLock { $0 }?.takes(request) ?? false
  }

  /// Returns the request unchanged.
  public override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  /// Returns false, since the device has the only cache.
  public override class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool { false }

  /// Called by the system.
  public override func startLoading() {
    if let loading { return loading.resume() }
    guard let service = LoadingService.current.withLock({ $0 }) else {
      client?.urlProtocol(self, didFailWithError: URLError(.cancelled))
      return
    }
    let loading = Loading(self, service)
    self.loading = loading
    loading.start()
  }

  /// Called by the system.
  public override func stopLoading() {
    #if !canImport(Darwin)
      // Foundation on Linux also calls this when a task is suspended; the task may be running again by now.
      if let state = task?.state, state == .suspended || state == .running {
        loading?.pause()
        return
      }
    #endif
    loading?.stop()
  }
}
