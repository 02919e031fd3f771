import Foundation
import System
import XCacheDevice
import XCacheRuntime

#if !canImport(Darwin)
  import FoundationNetworking
#endif

/// Passing a request on over the network, step by step as the relay reports.
extension Loading {
  func passOn() {
    #if canImport(Darwin)
      pass(request, file: nil)
    #else
      // A request whose body can't be read isn't sent without it.
      guard hidden.body != .unknown else { return fail(URLError(.unsupportedURL)) }
      pass(request, file: hidden.file)
    #endif
  }

  /// Sends the request on.
  private func pass(_ request: URLRequest, file: URL?) {
    let task = service.task(for: request, file: file)
    let isStopped = state.withLock { state -> Bool in
      state.passed = task
      return state.isStopped
    }
    // A task that was never started has to be cancelled to be released.
    if isStopped { return task.cancel() }
    service.relay.begin(task, for: self)
  }

  /// Handles the head of an answer.
  func received(_ response: URLResponse) {
    #if !canImport(Darwin)
      if let response = response as? HTTPURLResponse, follows(response) { return }
    #endif
    begin(response)
  }

  func received(_ bytes: Data) {
    // Nobody reads the body of a redirect.
    guard state.withLock({ $0.redirects.next == nil }) else { return }
    take(bytes)
  }

  /// Handles the end of the task that passed the request on.
  func ended(_ task: URLSessionTask, _ error: (any Error)?) {
    if let error { return fail(error) }
    // Foundation on Linux doesn't report the head of a redirect without a valid target.
    if let response = task.response, !state.withLock({ $0.hasHead || $0.redirects.next != nil }) {
      received(response)
    }
    if let next = state.withLock({ $0.redirects.take() }) {
      switch next {
      case .success(let request): pass(request, file: nil)
      case .failure(let error): fail(error)
      }
      return
    }
    finish()
  }

  func sent(_ count: Int64, of total: Int64) {
    guard let progress = service.progress else { return }
    thread.run { [weak self] in
      guard let task = self?.ownTask else { return }
      progress(task, count, total)
    }
  }
}

/// The redirects that are followed here.
struct Redirects {
  /// The target of the last answer, while its body is still on its way.
  private(set) var next: Result<URLRequest, URLError>?
  private var count = 0

  /// Takes the redirect that has to be followed now.
  mutating func take() -> Result<URLRequest, URLError>? { next.take() }

  mutating func add(_ request: Result<URLRequest, URLError>) {
    count += 1
    next = count > Redirect.limit ? .failure(URLError(.httpTooManyRedirects)) : request
  }
}

#if !canImport(Darwin)
  extension Loading {
    /// Whether an answer is a redirect to be followed once its body has ended.
    private func follows(_ response: HTTPURLResponse) -> Bool {
      guard let from = state.withLock({ $0.passed })?.originalRequest, let url = from.url else {
        return false
      }
      let headers = HTTPFields(from.allHTTPHeaderFields ?? [:])
      let isStream = from.httpBodyStream != nil || hidden.file != nil
      let body: NetworkRequest.Body =
        isStream ? .stream(length: 0) { _, _ in 0 } : from.httpBody.map { .bytes(Array($0)) } ?? .none
      let last = NetworkRequest(
        url.absoluteString, method: from.httpMethod ?? "GET", headers: headers, body: body)
      let location: HTTPFields =
        response.value(forHTTPHeaderField: "Location").map { [("Location", $0)] } ?? []
      let head = NetworkHead(status: response.statusCode, headers: location, url: last.url)
      guard let next = Redirect(after: head, to: last)?.request else { return false }
      let request = request(for: next, from)
      state.withLock { $0.redirects.add(request) }
      return true
    }

    private func request(for next: NetworkRequest, _ last: URLRequest) -> Result<URLRequest, URLError> {
      guard let url = URL(string: next.url) else { return .failure(URLError(.badURL)) }
      var request = URLRequest(url: url)
      request.httpMethod = next.method
      request.timeoutInterval = last.timeoutInterval
      for field in next.headers where !field.isNamed("cookie") || url.host == last.url?.host {
        request.setValue(field.value, forHTTPHeaderField: field.name)
      }
      switch next.body {
      case .none: break
      case .bytes(let bytes): request.httpBody = Data(bytes)
      case .stream:
        // The stream was read and can't be read again, unless it comes from a file.
        guard let stream = hidden.file.flatMap({ InputStream(url: $0) }) else {
          return .failure(URLError(.requestBodyStreamExhausted))
        }
        request.httpBodyStream = stream
      }
      return .success(request)
    }
  }
#endif
