import System
import XCacheDevice

/// Sends calls ahead of pages and hands out their answers.
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

  /// The bytes of the answers that are waiting.
  var size: Int { state.withLock { $0.table.size } }

  var counts: PrefetchCounts { state.withLock { $0.table.counts } }

  /// A clock that keeps running while the system sleeps, so that an answer's age stays right.
  private let now: @Sendable () -> Int64

  /// Sends a call without waiting for its answer.
  func send(_ request: NetworkRequest, body: [UInt8], as key: PrefetchTable.Key) async {
    let cookies = await fetcher.cookies.header(for: request.url)
    let now = now()
    let call = PrefetchTable.RequestContent(body: body, cookies: cookies, headers: request.headers)
    let id = state.withLock { $0.table.begin(key, call, at: now) }
    var request = request
    // With a memory limit, nothing of the answer is ever written to the disk.
    request.memoryLimit = PrefetchTable.answerLimit
    request.isCancelled = { [weak self] in !(self?.isWanted(key, id) ?? false) }
    request.observe = { [weak self] step in self?.state.withLock { $0.table.record(step, of: key, id) } }
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
      try await fetcher.fetch(request) { head in
        collected.withLock { $0.head = head }
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
      // The page will send the request itself.
    }
    let now = now()
    let result = answer
    let (waiter, given) = state.withLock { state -> (Waiter?, PrefetchedAnswer?) in
      let given = state.table.end(key, id, result, at: now)
      return (state.waiters.removeValue(forKey: id), given)
    }
    waiter?.resume(returning: given)
    try? await Task.sleep(for: .milliseconds(PrefetchTable.retention))
    let end = self.now()
    state.withLock { $0.table.expire(at: end) }
  }

  /// Whether an answer that nobody has taken is waiting or on its way.
  func hasAny(method: String, url: String) -> Bool {
    let now = now()
    return state.withLock { $0.table.hasAny(method: method, url: url, at: now) }
  }

  /// Returns the answer to a request, once, waiting for it if it is on its way; nil means that the request has to go to the
  /// network. `page` is the page that asks; if nil, the app asks, and gets what was sent ahead of any page.
  func take(
    _ page: UInt64?, _ method: String, _ url: String, _ asked: PrefetchTable.RequestContent
  ) async -> PrefetchedAnswer? {
    let now = now()
    return await withCheckedContinuation { continuation in
      let found = state.withLock { state -> PrefetchedAnswer?? in
        guard
          let page = page ?? state.table.page(method: method, url: url, asked, at: now)
        else { return .some(nil) }
        let key = PrefetchTable.Key(page: page, method: method, url: url)
        switch state.table.take(key, asked, at: now) {
        case .none: return .some(nil)
        case .answer(let answer): return answer
        case .pending(let id):
          state.waiters[id] = continuation
          return nil
        }
      }
      if let found { continuation.resume(returning: found) }
    }
  }

  /// Drops the answers that a page's request shows to be another user's, or to depend on what it asks for besides.
  func drop(_ page: UInt64, _ method: String, _ url: String, _ asked: PrefetchTable.RequestContent) {
    state.withLock { $0.table.drop(PrefetchTable.Key(page: page, method: method, url: url), asked) }
  }

  /// Closes every page, because the runtime was closed.
  func close() { state.withLock { $0.table.close() } }

  /// Closes a page: drops the answers it didn't take, and cancels the calls that are on their way.
  func close(_ page: UInt64) { state.withLock { $0.table.close(page) } }
}

extension NetworkHead {
  fileprivate var withoutCookies: NetworkHead {
    var answer = self
    answer.head.fields.remove("set-cookie")
    return answer
  }
}
