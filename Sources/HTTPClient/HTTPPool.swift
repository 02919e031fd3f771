import CCurl
import System

/// Makes requests of many threads over few connections: one to a server that speaks HTTP/2, on which they all go at the
/// same time, else some to each.
///
/// A call blocks its thread until the answer is whole; the sink is called on a thread of the pool, which serves the other
/// requests, too, so a sink comes back soon.
package final class HTTPPool: Sendable {
  private let connections: Int
  private let state = Locked(State())

  private struct State {
    var driver: PoolDriver?
    var idle: [Idle] = []
  }

  /// - Parameter connections: to one server that doesn't speak HTTP/2.
  package init(connections: Int = 6) { self.connections = connections }

  deinit { state.withLock { $0.driver?.stop() } }

  /// The answer to `request`, as `HTTPClient.send` gives it.
  package func send(
    _ request: HTTPRequest, into sink: HTTPSink = .memory(limit: 16 << 20)
  ) throws(HTTPClientError) -> HTTPReply {
    let (driver, idle) = try take()
    defer { state.withLock { $0.idle.append(idle) } }
    var request = request
    request.waitsForConnection = true
    return try idle.handle.perform(request, into: sink) { driver.run($0) }
  }

  private func take() throws(HTTPClientError) -> (PoolDriver, Idle) {
    let connections = connections
    return try state.withLock { state throws(HTTPClientError) in
      if state.driver == nil { state.driver = try PoolDriver.start(connections) }
      guard let driver = state.driver else { fatalError("a driver was just started") }
      if let warm = state.idle.popLast() { return (driver, warm) }
      return (driver, Idle(try EasyHandle()))
    }
  }

  private struct Idle: @unchecked Sendable {
    // Only the thread that took it out touches the handle, and the driver while that thread waits.
    let handle: EasyHandle
    init(_ handle: EasyHandle) { self.handle = handle }
  }
}

/// A thread that moves the bytes of all requests of a pool.
///
/// Unchecked: `multi` is touched by that thread alone, but for `curl_multi_wakeup`, which is there for other threads.
private final class PoolDriver: @unchecked Sendable {  // see above
  private let multi: UnsafeMutableRawPointer
  private let queue = Monitor(Queue())

  private struct Queue {
    var jobs: [Job] = []
    var isStopped = false
  }

  /// A request and the thread that waits for it.
  private final class Job: @unchecked Sendable {  // the handle is the driver's until `code` is there
    let handle: UnsafeMutableRawPointer
    let code = Monitor<CURLcode?>(nil)
    init(_ handle: UnsafeMutableRawPointer) { self.handle = handle }
  }

  static func start(_ connections: Int) throws(HTTPClientError) -> PoolDriver {
    guard EasyHandle.isReady, let multi = curl_multi_init() else {
      throw .failed(code: Int(CURLE_FAILED_INIT.rawValue), reason: "libcurl can't be started")
    }
    let driver = PoolDriver(multi)
    xcache_multi_setopt_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, connections)
    do {
      _ = try OSThread(name: "http pool") { driver.work() }
    } catch {
      throw .failed(code: Int(error.code.rawValue), reason: "there is no thread left")
    }
    return driver
  }

  private init(_ multi: UnsafeMutableRawPointer) { self.multi = multi }

  deinit { curl_multi_cleanup(multi) }

  /// Ends the thread once nobody waits any more.
  func stop() {
    queue.broadcasting { $0.isStopped = true }
    curl_multi_wakeup(multi)
  }

  /// Makes the request that a handle was set up for, and waits for its end.
  func run(_ handle: UnsafeMutableRawPointer) -> CURLcode {
    let job = Job(handle)
    queue.signalling { $0.jobs.append(job) }
    curl_multi_wakeup(multi)
    return job.code.waiting { $0 }
  }

  private func work() {
    var active: [UnsafeMutableRawPointer: Job] = [:]
    while let jobs = next(isIdle: active.isEmpty) {
      for job in jobs {
        if curl_multi_add_handle(multi, job.handle) == CURLM_OK {
          active[job.handle] = job
        } else {
          job.code.signalling { $0 = CURLE_FAILED_INIT }
        }
      }
      var running: Int32 = 0
      curl_multi_perform(multi, &running)
      var code = CURLE_OK
      while let handle = xcache_multi_finished(multi, &code) {
        curl_multi_remove_handle(multi, handle)
        let result = code
        active.removeValue(forKey: handle)?.code.signalling { $0 = result }
      }
      if !active.isEmpty { curl_multi_poll(multi, nil, 0, 1000, nil) }
    }
  }

  /// What came to be done; waits for it where nothing else is. Nil: the thread ends.
  private func next(isIdle: Bool) -> [Job]? {
    let taken: [Job]?? = queue.waiting { queue in
      if queue.jobs.isEmpty, isIdle { return queue.isStopped ? .some(nil) : nil }
      defer { queue.jobs = [] }
      return .some(queue.jobs)
    }
    return taken ?? nil
  }
}
