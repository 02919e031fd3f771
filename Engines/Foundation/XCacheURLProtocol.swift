import Foundation
import System
import XCacheRuntime

#if !canImport(Darwin)
  import FoundationNetworking
#endif

/// Answers the requests of an app's own `URLSession`s from the device, and passes on what isn't there.
///
///     XCacheURLProtocol.start(runtime)
///     let configuration = URLSessionConfiguration.default
///     XCacheURLProtocol.add(to: configuration)
///     let session = URLSession(configuration: configuration)
///
/// It takes requests whose answers are on the device, and no others; those go their way as if it weren't there. Where
/// it was told to take every request for the app's hosts, it passes on what it can't answer, bodies included, over a session of
/// its own, and marks that so that it doesn't take it twice.
///
/// Redirects, and challenges such as whether a server is trusted, are the app's on Apple's systems. Linux's Foundation
/// can't be told of either: redirects are followed here, as a browser follows them, and certificates are checked. Nor can it
/// be given the file of a download: there tasks for downloads of what is taken end with `URLError.unsupportedURL`.
public final class XCacheURLProtocol: URLProtocol {
  /// Which requests are taken.
  public enum Requests: Hashable, Sendable {
    /// Those for files that the manifest lists.
    case listed
    /// Every one for a host that the app named.
    case ofHosts
  }

  /// Touched where the system calls this object, which it does one call after another.
  private var loading: Loading?

  /// Begins to answer. What is passed on goes over one session of `network`, whose cookies, proxies and headers count.
  ///
  /// - Parameter progress: told of the bytes of a body that have left, and of how many there are, as far as that is known.
  public static func start(
    _ runtime: Runtime, takes requests: Requests = .listed, network: URLSessionConfiguration = .default,
    progress: (@Sendable (_ task: URLSessionTask, _ sent: Int64, _ total: Int64) -> Void)? = nil
  ) {
    let service = LoadingService(runtime, requests, network, progress)
    LoadingService.current.withLock { $0 = service }
  }

  /// Ends it: nothing more is taken, and what was taken is finished. The runtime is let go then.
  public static func stop() { LoadingService.current.withLock { $0 = nil } }

  /// Has the sessions of a configuration ask here first.
  public static func add(to configuration: URLSessionConfiguration) {
    let others = (configuration.protocolClasses ?? []).filter { $0 != XCacheURLProtocol.self }
    configuration.protocolClasses = [XCacheURLProtocol.self] + others
  }

  /// Whether a request is taken.
  public override class func canInit(with request: URLRequest) -> Bool {
    LoadingService.current.withLock { $0 }?.takes(request) ?? false
  }

  /// As it is.
  public override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  /// The device has the only cache.
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
      // Linux's Foundation says so when a task is paused, too; it may run again by now.
      if let state = task?.state, state == .suspended || state == .running {
        loading?.pause()
        return
      }
    #endif
    loading?.stop()
  }
}
