import System
import XCacheClient

/// Sends calls ahead of pages and hands their answers over.
final class PrefetchCenter: Sendable {
  typealias Waiter = CheckedContinuation<PrefetchedAnswer?, Never>

  private struct State {
    var table = PrefetchTable()
    var waiters: [Int: Waiter] = [:]
  }

  let fetcher: PageFetcher
  private let state = Locked(State())

  init(_ fetcher: PageFetcher, now: @escaping @Sendable () -> Int64 = Clock.continuousMilliseconds) {
    self.fetcher = fetcher
    self.now = now
  }

  /// Bytes of answers that wait.
  var size: Int { state.withLock { $0.table.size } }

  var counts: PrefetchCounts { state.withLock { $0.table.counts } }

  /// Goes on while the system sleeps, after which an answer is as old as it is.
  private let now: @Sendable () -> Int64

  /// Sends a call; comes back at once.
  func send(_ request: NetworkRequest, body: [UInt8], as key: PrefetchTable.Key) async {
    let cookies = await fetcher.cookies.header(for: request.url)
    let now = now()
    let id = state.withLock { $0.table.begin(key, body: body, cookies: cookies, at: now) }
    var request = request
    // The cookies that the table knows are those that are sent, where the fetcher asks a moment later.
    // Nothing of it is ever on the disk.
    request.memoryLimit = PrefetchTable.answerLimit
    request.isCancelled = { [weak self] in !(self?.isWanted(key, id) ?? false) }
    let sent = request
    Task { await self.run(sent, key, id) }
  }

  private func isWanted(_ key: PrefetchTable.Key, _ id: Int) -> Bool {
    state.withLock { $0.table.isWanted(key, id) }
  }

  private func run(_ request: NetworkRequest, _ key: PrefetchTable.Key, _ id: Int) async {
    let collected = Locked<(head: NetworkHead?, body: [UInt8])>((nil, []))
    var answer: PrefetchedAnswer?
    do throws(TransportError) {
      try await fetcher.fetch(request) { [self] head in
        collected.withLock { $0.head = head }
        // The page may ask with them before the body is there.
        if !head.values("set-cookie").isEmpty {
          let cookies = Task.waiting { await self.fetcher.cookies.header(for: request.url) }
          state.withLock { $0.table.changed(cookies, of: key, id) }
        }
        return (200..<300).contains(head.status)
      } receive: { bytes in
        collected.withLock { collected in
          guard collected.body.count + bytes.byteCount <= PrefetchTable.answerLimit else { return false }
          bytes.withUnsafeBytes { collected.body.append(contentsOf: $0) }
          return true
        }
      }
      answer = collected.withLock { collected in
        collected.head.map { PrefetchedAnswer(head: $0.withoutCookies, body: collected.body) }
      }
    } catch {
      // The page asks itself.
    }
    let cookies = await fetcher.cookies.header(for: request.url)
    let now = now()
    let result = answer
    let waiter = state.withLock { state -> Waiter? in
      state.table.end(key, id, result, cookies: cookies, at: now)
      return state.waiters.removeValue(forKey: id)
    }
    waiter?.resume(returning: result)
    try? await Task.sleep(for: .milliseconds(PrefetchTable.keepFor))
    let end = self.now()
    state.withLock { $0.table.expire(at: end) }
  }

  /// Whether an answer waits, or is under way, that nobody has taken.
  func hasAny(method: String, url: String) -> Bool {
    let now = now()
    return state.withLock { $0.table.hasAny(method: method, url: url, at: now) }
  }

  /// The answer to a request, once; waits for one that is under way. Nil: whoever asks is to ask the network.
  /// - Parameter page: which asks; nil: the app does, and gets what was sent ahead of any.
  func take(
    _ page: UInt64?, _ method: String, _ url: String, body: [UInt8], cookies: String?
  ) async -> PrefetchedAnswer? {
    let now = now()
    return await withCheckedContinuation { continuation in
      let found = state.withLock { state -> PrefetchedAnswer?? in
        guard
          let page = page
            ?? state.table.page(method: method, url: url, body: body, cookies: cookies, at: now)
        else { return .some(nil) }
        let key = PrefetchTable.Key(page: page, method: method, url: url)
        switch state.table.take(key, body: body, cookies: cookies, at: now) {
        case .none: return .some(nil)
        case .answer(let answer): return answer
        case .underWay(let id):
          state.waiters[id] = continuation
          return nil
        }
      }
      if let found { continuation.resume(returning: found) }
    }
  }

  /// The runtime is closed: as with every page.
  func close() { state.withLock { $0.table.close() } }

  /// A page is gone: what it didn't take is dropped, what is under way ended.
  func close(_ page: UInt64) { state.withLock { $0.table.close(page) } }
}

extension NetworkHead {
  fileprivate var withoutCookies: NetworkHead {
    var head = NetworkHead(
      status: status, headers: headers.filter { $0.name.lowercased() != "set-cookie" }, url: url)
    head.reason = reason
    return head
  }
}
