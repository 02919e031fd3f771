import Foundation
import System
import XCacheDevice
import XCacheRuntime

#if !canImport(Darwin)
  import FoundationNetworking
#endif

/// One request of a session of the app's, from start to end.
///
/// Unchecked: `owner`, `isOver` and `paused` are only used on `thread`, the rest is behind a lock or never changes.
final class Loading: @unchecked Sendable {  // see above
  let service: LoadingService
  let request: URLRequest
  let thread: ClientThread
  #if !canImport(Darwin)
    let hidden: HiddenTask
  #endif
  private weak var owner: XCacheURLProtocol?
  private var isOver = false
  private var paused: [@Sendable () -> Void]?
  let state = Locked(State())

  struct State {
    var job: Task<Void, Never>?
    /// The task that passes the request on.
    var passed: URLSessionTask?
    var isStopped = false
    /// Whether the client has the head of the answer.
    var hasHead = false
    /// The body collected so far, if it has to be handed over in one piece.
    var collected = Data()
    var redirects = Redirects()
    /// Carries the client's answer to a pending challenge.
    var challenge: ChallengeAnswer?
  }

  /// Call this on the thread on which the system expects client calls.
  init(_ owner: XCacheURLProtocol, _ service: LoadingService) {
    self.owner = owner
    self.service = service
    #if canImport(Darwin)
      request = owner.request
      thread = ClientThread()
    #else
      hidden = HiddenTask(owner.task)
      request = hidden.complete(owner.request)
      thread = ClientThread(hidden.queue)
    #endif
  }

  func start() {
    #if !canImport(Darwin)
      // A download's file can't be handed over, and Foundation terminates the process if there is none.
      guard !(owner?.task is URLSessionDownloadTask) else { return fail(URLError(.unsupportedURL)) }
    #endif
    let asked = PageRequest(request)
    let runtime = service.runtime
    let job = Task { [weak self] in
      let answer = await runtime.answer(asked)
      guard let self, !Task.isCancelled else { return }
      switch answer {
      case .local(let answer): self.deliver(answer)
      case .network:
        if let ahead = await self.prefetched(asked) { self.deliver(ahead) } else { self.passOn() }
      }
    }
    state.withLock { $0.job = job }
  }

  /// Stops the request: the client wants nothing more.
  func stop() {
    isOver = true
    let (job, passed, challenge) = state.withLock { state in
      state.isStopped = true
      return (state.job, state.passed, state.challenge.take())
    }
    job?.cancel()
    challenge?.cancel()
    // On another queue: in Foundation on Linux, every session waits for this one.
    if let passed { DispatchQueue.global(qos: .userInitiated).async { passed.cancel() } }
  }

  /// Holds back the calls to the client.
  func pause() { paused = paused ?? [] }

  func resume() {
    let held = paused ?? []
    paused = nil
    for tell in held { tell() }
  }

  /// The app's own task; use it on `thread`.
  var ownTask: URLSessionTask? { owner?.task }

  // MARK: - What the client is told

  /// Calls the client, unless it wants nothing more.
  func tell(_ body: @escaping @Sendable (_ client: any URLProtocolClient, _ own: URLProtocol) -> Void) {
    thread.run { [weak self] in self?.tellNow(body) }
  }

  private func tellNow(
    _ body: @escaping @Sendable (_ client: any URLProtocolClient, _ own: URLProtocol) -> Void
  ) {
    guard paused == nil else {
      paused?.append { [weak self] in self?.tellNow(body) }
      return
    }
    guard !isOver, let owner, let client = owner.client else { return }
    body(client, owner)
  }

  func begin(_ response: URLResponse) {
    state.withLock { $0.hasHead = true }
    tell { $0.urlProtocol($1, didReceive: response, cacheStoragePolicy: .notAllowed) }
  }

  /// - Parameters:
  ///   - bytes: a piece of the body.
  ///   - done: called when the client has it.
  func take(_ bytes: Data, done: (@Sendable () -> Void)? = nil) {
    if collects {
      state.withLock { $0.collected.append(bytes) }
      done?()
      return
    }
    tell {
      $0.urlProtocol($1, didLoad: bytes)
      done?()
    }
  }

  func finish() {
    let collected = state.withLock { $0.collected }
    if !collected.isEmpty { tell { $0.urlProtocol($1, didLoad: collected) } }
    tell { $0.urlProtocolDidFinishLoading($1) }
    end()
  }

  func fail(_ error: any Error) {
    tell { $0.urlProtocol($1, didFailWithError: error) }
    end()
  }

  private func end() { thread.run { [weak self] in self?.endNow() } }

  private func endNow() {
    if paused == nil { isOver = true } else { paused?.append { [weak self] in self?.endNow() } }
  }

  /// Whether the client accepts only one piece of a body.
  private var collects: Bool {
    #if canImport(Darwin)
      false
    #else
      hidden.collects
    #endif
  }
}

extension Loading {
  /// The number of bytes of a file to read at a time.
  private static let piece = 1 << 18

  /// Returns the answer to a call that was sent ahead of a page, if it matches this request.
  fileprivate func prefetched(_ asked: PageRequest) async -> PrefetchedAnswer? {
    guard !Task.isCancelled, request.httpBodyStream == nil, hasKnownBody else { return nil }
    return await service.runtime.prefetchedForApp(
      asked, body: Array(request.httpBody ?? Data()), cookies: service.cookies(for: request))
  }

  /// Whether the request contains its whole body.
  private var hasKnownBody: Bool {
    #if canImport(Darwin)
      true
    #else
      switch hidden.body {
      case .none, .data: true
      default: false
      }
    #endif
  }

  fileprivate func deliver(_ answer: PrefetchedAnswer) {
    guard begin(answer.head.status, answer.head.headers) else { return }
    if !answer.body.isEmpty { take(Data(answer.body)) }
    finish()
  }

  /// Passes an answer's head to the client; false if it isn't valid.
  private func begin(_ status: Int, _ headers: HTTPFields) -> Bool {
    guard let url = request.url,
      let head = HTTPURLResponse(
        url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers.dictionary)
    else {
      fail(URLError(.cannotParseResponse))
      return false
    }
    begin(head)
    return true
  }

  fileprivate func deliver(_ answer: LocalAnswer) {
    guard begin(answer.status, answer.headers) else { return }
    switch answer.body {
    case .empty: finish()
    case .bytes(let bytes):
      take(Data(bytes))
      finish()
    case .file(let file, let start, let count): deliver(file, start, count)
    }
  }

  /// Reads the next piece when the client has taken the last one, so that a long file takes little memory.
  private func deliver(_ file: LocalResource, _ start: Int64, _ left: Int64) {
    guard left > 0 else { return finish() }
    // Reading may block on the disk, which threads of Swift's concurrency pool must not.
    DispatchQueue.global(qos: .userInitiated).async {
      let bytes = try? file.read(at: start, count: Int(min(left, Int64(Self.piece))))
      guard let bytes, !bytes.isEmpty else { return self.fail(URLError(.cannotOpenFile)) }
      self.take(Data(bytes)) { self.deliver(file, start + Int64(bytes.count), left - Int64(bytes.count)) }
    }
  }
}
