import CCurl
import HTTP
import System

/// A thread that transfers the data of all requests of a pool.
///
/// Unchecked: `multi` is only used by that thread, except for `curl_multi_wakeup`, which is meant for other threads.
final class PoolDriver: @unchecked Sendable {  // see above
  private let multi: UnsafeMutableRawPointer
  private let queue = Monitor(Queue())

  private struct Queue {
    var commands: [Command] = []
    var isStopped = false
  }

  private enum Command: Sendable {
    case begin(Job)
    /// Resumes the transfer: there is room for the response again, or bytes of the body have arrived.
    case resume(Job)
    /// The caller wants nothing more.
    case cancel(Job)
  }

  /// A request, and the thread that waits for it.
  private final class Job: @unchecked Sendable {  // the handle is the driver's until `end` was called
    let handle: UnsafeMutableRawPointer
    let end: @Sendable (CURLcode) -> Void
    /// For a page's request: the server, and the data passed to and from the requesting thread.
    let page: (server: String, handOver: HandOver)?

    init(
      _ handle: UnsafeMutableRawPointer, page: (server: String, handOver: HandOver)? = nil,
      _ end: @escaping @Sendable (CURLcode) -> Void
    ) {
      self.handle = handle
      self.page = page
      self.end = end
    }
  }

  /// The thread's own state.
  private struct Work {
    var active: [UnsafeMutableRawPointer: Job] = [:]
    /// Page requests held back while the first connection to their server is being made, since only then does it show
    /// whether it takes several requests. libcurl's own CURLOPT_PIPEWAIT (7.88) may forget them until another request ends.
    var held: [String: [Job]] = [:]

    /// Whether a connection to a server is being made, and no established one is in use.
    func isConnecting(_ server: String) -> Bool {
      let own = active.values.compactMap(\.page).filter { $0.server == server }
      return !own.isEmpty && !own.contains { $0.handOver.isReady }
    }

    /// Removes and returns the requests that needn't wait any more.
    mutating func release() -> [Job] {
      let servers = held.keys.filter { !isConnecting($0) }
      return servers.flatMap { held.removeValue(forKey: $0) ?? [] }
    }
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

  deinit { _ = Libcrypto.using { curl_multi_cleanup(multi) } }

  /// Accepts no more requests, and ends the thread once no request is left.
  func stop() {
    queue.broadcasting { $0.isStopped = true }
    curl_multi_wakeup(multi)
  }

  private func add(_ command: Command) {
    queue.signalling { $0.commands.append(command) }
    curl_multi_wakeup(multi)
  }

  /// Submits a job; returns false if the thread accepts no more, and may have ended.
  private func submit(_ job: Job) -> Bool {
    let isTaken = queue.signalling { queue in
      if !queue.isStopped { queue.commands.append(.begin(job)) }
      return !queue.isStopped
    }
    if isTaken { curl_multi_wakeup(multi) }
    return isTaken
  }

  // MARK: - For the threads that ask

  /// Performs the request that a handle was set up for, and waits for its end. Returns nil, having done nothing, after
  /// `stop`.
  func run(_ handle: UnsafeMutableRawPointer) -> CURLcode? {
    let code = Monitor<CURLcode?>(nil)
    guard submit(Job(handle) { result in code.signalling { $0 = result } }) else { return nil }
    return code.waiting { $0 }
  }

  /// Performs the request that a handle was set up for, and processes the response on the calling thread. Returns nil,
  /// having done nothing, after `stop`.
  func run(
    _ handle: UnsafeMutableRawPointer, _ handOver: HandOver, _ request: HTTPRequest,
    _ begin: (HTTPHead) throws -> Void, _ write: (UnsafeRawBufferPointer) throws -> Void
  ) throws(HTTPClientError) -> CURLcode? {
    let target = Target(request.url)
    let server = target.map { "\($0.isSecure) \($0.host) \($0.port)" } ?? ""
    let job = Job(handle, page: (server, handOver)) { handOver.end($0.rawValue) }
    guard submit(job) else { return nil }
    do throws(HTTPClientError) {
      return try follow(job, handOver, request, begin, write)
    } catch {
      add(.cancel(job))
      // Until then libcurl uses the handle.
      _ = handOver.drain()
      throw error
    }
  }

  private func follow(
    _ job: Job, _ handOver: HandOver, _ request: HTTPRequest,
    _ begin: (HTTPHead) throws -> Void, _ write: (UnsafeRawBufferPointer) throws -> Void
  ) throws(HTTPClientError) -> CURLcode {
    var received: Int64 = 0
    var sent: Int64 = 0
    while true {
      let next = handOver.next(within: .milliseconds(500))
      if let watch = request.watch, !watch(HTTPProgress(sent: sent, received: received)) { throw .cancelled }
      guard let (step, shouldContinue) = next else { continue }
      if shouldContinue { add(.resume(job)) }
      do {
        switch step {
        case .head(let head): try begin(head)
        case .bytes(let bytes):
          received += Int64(bytes.count)
          try bytes.withUnsafeBytes { try write($0) }
        case .wants(let offset):
          let bytes = try Self.body(of: request, from: offset)
          sent = offset + Int64(bytes.count)
          handOver.give(bytes, at: offset)
          add(.resume(job))
        case .end(let code): return CURLcode(rawValue: code)
        case .lost:
          throw HTTPClientError.failed(
            code: Int(CURLE_READ_ERROR.rawValue), reason: "the answer was kept on the disk, and can't be read"
          )
        }
      } catch let error as HTTPClientError {
        throw error
      } catch {
        throw .callback(error)
      }
    }
  }

  /// Returns the next bytes of a streamed body.
  private static func body(of request: HTTPRequest, from offset: Int64) throws -> ArraySlice<UInt8> {
    guard case .stream(let length, let read) = request.body else { return [] }
    let wanted = Int(min(length - offset, 256 << 10))
    let bytes = try [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
      count = min(wanted, max(0, try read(offset, UnsafeMutableRawBufferPointer(buffer))))
    }
    guard !bytes.isEmpty else { throw HTTPClientError.bodyEnded(at: offset) }
    return bytes[...]
  }

  // MARK: - The thread

  private func work() {
    var work = Work()
    while let commands = next(isIdle: work.active.isEmpty) {
      Libcrypto.using { transfer(commands, &work) }
      if !work.active.isEmpty { curl_multi_poll(multi, nil, 0, 1000, nil) }
    }
  }

  private func transfer(_ commands: [Command], _ work: inout Work) {
    for command in commands { carryOut(command, &work) }
    var running: Int32 = 0
    curl_multi_perform(multi, &running)
    var code = CURLE_OK
    while let handle = xcache_multi_finished(multi, &code) {
      curl_multi_remove_handle(multi, handle)
      work.active.removeValue(forKey: handle)?.end(code)
    }
    for job in work.release() { begin(job, &work) }
  }

  private func begin(_ job: Job, _ work: inout Work) {
    guard curl_multi_add_handle(multi, job.handle) == CURLM_OK else { return job.end(CURLE_FAILED_INIT) }
    work.active[job.handle] = job
  }

  private func carryOut(_ command: Command, _ work: inout Work) {
    switch command {
    case .begin(let job):
      if let server = job.page?.server, work.isConnecting(server) {
        work.held[server, default: []].append(job)
      } else {
        begin(job, &work)
      }
    // A job that has ended isn't listed any more, and its handle may be in use for another.
    case .resume(let job):
      if work.active[job.handle] === job { curl_easy_pause(job.handle, CURLPAUSE_CONT) }
    case .cancel(let job):
      if work.active[job.handle] === job {
        curl_multi_remove_handle(multi, job.handle)
        work.active[job.handle] = nil
      } else if let server = job.page?.server, work.held[server]?.contains(where: { $0 === job }) == true {
        work.held[server]?.removeAll { $0 === job }
      } else {
        return
      }
      job.end(CURLE_ABORTED_BY_CALLBACK)
    }
  }

  /// Returns the commands that have arrived, waiting for them if there is nothing else to do; nil if the thread has to end.
  private func next(isIdle: Bool) -> [Command]? {
    let taken: [Command]?? = queue.waiting { queue in
      if queue.commands.isEmpty, isIdle { return queue.isStopped ? .some(nil) : nil }
      defer { queue.commands = [] }
      return .some(queue.commands)
    }
    return taken ?? nil
  }
}
