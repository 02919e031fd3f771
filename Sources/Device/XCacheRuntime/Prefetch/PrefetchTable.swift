import HTTP
import Values

/// The answers to calls sent ahead of pages: which are on their way, which are waiting, and for how long.
///
/// It only decides; `PrefetchCenter` does the sending and waiting.
package struct PrefetchTable {
  /// What a page's request has to match to get an answer.
  struct Key: Hashable, Sendable {
    let page: UInt64
    let method: String
    let url: String
  }

  /// What else it has to match: all that can make another answer of it, or another user's.
  struct RequestContent: Sendable {
    var body: [UInt8] = []
    /// The value of `Cookie`; nil if there are none.
    var cookies: String?
    var headers: HTTPFields = []
  }

  private struct PendingAnswer {
    let id: Int
    let sent: RequestContent
    var cookies: CallCookies
    let start: Int64
    /// The names in `Vary` so far.
    var vary: Set<String> = []
    /// Whether a request was sent under the call's URL.
    var isSent = false
    /// Whether no request may get the answer: cookies of others made it.
    var isForeign = false
    /// The answer and when it was complete; nil while it is on its way.
    var answer: PrefetchedAnswer?
    var end: Int64?
    /// When the page asked, and with which headers; nil if it hasn't yet.
    var taken: (at: Int64, headers: HTTPFields)?

    func isWaiting(at now: Int64) -> Bool {
      taken == nil && end.map { now - $0 < PrefetchTable.retention } ?? true
    }

    func hasBody(_ asked: RequestContent) -> Bool { PrefetchTable.isSame(sent.body, asked.body) }

    /// Whether the answer is the one that a request of the same method, URL and body would get.
    func canAnswer(_ asked: RequestContent) -> Bool {
      !isForeign && cookies.allows(asked.cookies) && !PageHeaders.namesUser(asked.headers)
        && PageHeaders.isOfOrigin(sent.headers, asked.headers)
        && !PageHeaders.differs(by: vary, sent.headers, asked.headers)
    }
  }

  enum TakeResult {
    case none
    /// The answer is here.
    case answer(PrefetchedAnswer)
    /// The answer is on its way, under this number.
    case pending(Int)
  }

  /// What a dropped answer was for.
  private struct Dropped {
    let body: [UInt8]
    let cookies: CallCookies
  }

  private var held: [Key: [PendingAnswer]] = [:]
  /// Dropped answers of pages that are still open and may ask for them yet.
  private var dropped: [Key: [Dropped]] = [:]
  private var nextID = 0
  /// The bytes of the answers held.
  private(set) var size = 0
  private(set) var counts = PrefetchCounts()

  /// The milliseconds for which an answer waits for its page.
  static let retention: Int64 = 10_000
  /// The most bytes of one answer, and of all of them; an answer beyond either is dropped.
  package static let answerLimit = 4 << 20
  static let limit = 16 << 20
  /// The most dropped answers that are remembered; beyond that all are forgotten, which only makes the counts less exact.
  private static let maxDropped = 256

  /// Adds a call that is sent, and returns its number.
  mutating func begin(_ key: Key, _ sent: RequestContent, at now: Int64) -> Int {
    nextID += 1
    held[key, default: []].append(
      PendingAnswer(id: nextID, sent: sent, cookies: CallCookies(key.url, sent: sent.cookies), start: now))
    counts.sent += 1
    return nextID
  }

  /// Records a step of a call. A redirect to another origin may not have sent cookies, nor one to the same origin other
  /// cookies: the table knows the requests' cookies only for the call's own URL.
  mutating func record(_ step: FetchStep, of key: Key, _ id: Int) {
    guard let index = held[key]?.firstIndex(where: { $0.id == id }), var call = held[key]?[index] else {
      return
    }
    switch step {
    case .sent(let cookies, _) where !call.isSent:
      call.isSent = true
      if cookies != call.sent.cookies {
        // They changed just now. Whoever took the answer by the former ones sends the request again.
        call.isForeign = call.taken != nil
        call.cookies = CallCookies(key.url, sent: cookies)
      }
    case .sent(let cookies, let url):
      if !(Self.isSameOrigin(url, key.url) ? call.cookies.allows(cookies) : cookies == nil) {
        call.isForeign = true
      }
    case .answered(let head, let url):
      call.cookies.set(head.headers.values("set-cookie"), by: url)
      call.vary.formUnion(head.vary)
    }
    held[key]?[index] = call
  }

  /// Ends a call, with its answer or, if nil, without one that the page could use.
  /// - Returns: the answer, if the page that waits for it may have it.
  mutating func end(_ key: Key, _ id: Int, _ answer: PrefetchedAnswer?, at now: Int64) -> PrefetchedAnswer? {
    guard let index = held[key]?.firstIndex(where: { $0.id == id }), let own = held[key]?[index] else {
      return nil
    }
    let isTaken = own.taken != nil
    let isRefused =
      own.isForeign
      || own.taken.map { PageHeaders.differs(by: own.vary, own.sent.headers, $0.headers) } ?? false
    guard let answer, !isRefused, isTaken || size + answer.body.count <= Self.limit else {
      counts.failed += 1
      remove(key, index)
      return nil
    }
    if let taken = own.taken {
      counts.used += 1
      counts.savedMilliseconds += taken.at - own.start
      remove(key, index)
      return answer
    }
    size += answer.body.count
    held[key]?[index].answer = answer
    held[key]?[index].end = now
    return nil
  }

  /// Takes the answer to a page's request. Each answer is returned once; answers to the same request with other cookies or
  /// headers are dropped.
  mutating func take(_ key: Key, _ asked: RequestContent, at now: Int64) -> TakeResult {
    let index = held[key]?.firstIndex { $0.taken == nil && $0.hasBody(asked) && $0.canAnswer(asked) }
    guard let index, let own = held[key]?[index] else {
      noteLate(key, asked)
      drop(key, asked)
      return .none
    }
    guard let answer = own.answer, let end = own.end else {
      held[key]?[index].taken = (now, asked.headers)
      return .pending(own.id)
    }
    remove(key, index)
    guard now - end < Self.retention else {
      counts.late += 1
      return .none
    }
    counts.used += 1
    counts.savedMilliseconds += end - own.start
    return .answer(answer)
  }

  /// Drops the answers to a request that comes as another user's, or asks for something else.
  mutating func drop(_ key: Key, _ asked: RequestContent) {
    for own in held[key] ?? [] where own.taken == nil && own.hasBody(asked) && !own.canAnswer(asked) {
      drop(key, own.id)
    }
  }

  /// Counts a request whose answer was dropped because it waited too long.
  private mutating func noteLate(_ key: Key, _ asked: RequestContent) {
    let index = dropped[key]?.firstIndex {
      $0.cookies.allows(asked.cookies) && Self.isSame($0.body, asked.body)
    }
    guard let index else { return }
    dropped[key]?.remove(at: index)
    counts.unused -= 1
    counts.late += 1
  }

  /// Returns the page whose answer goes to a request of the app's own, which belongs to no page: the one that was opened
  /// first.
  func page(method: String, url: String, _ asked: RequestContent, at now: Int64) -> UInt64? {
    held.filter { key, list in
      key.method == method && key.url == url
        && list.contains { $0.isWaiting(at: now) && $0.hasBody(asked) && $0.canAnswer(asked) }
    }
    .keys.map(\.page).min()
  }

  /// Whether an answer that nobody has taken is waiting or on its way.
  func hasAny(method: String, url: String, at now: Int64) -> Bool {
    held.contains { key, list in
      key.method == method && key.url == url && list.contains { $0.isWaiting(at: now) }
    }
  }

  /// Whether anyone may still want the answer.
  func isWanted(_ key: Key, _ id: Int) -> Bool { held[key]?.contains { $0.id == id } ?? false }

  /// Drops answers that waited too long.
  mutating func expire(at now: Int64) {
    for (key, list) in held {
      for own in list where own.end.map({ now - $0 >= Self.retention }) ?? false {
        drop(key, own.id)
        if dropped.values.reduce(0, { $0 + $1.count }) >= Self.maxDropped { dropped = [:] }
        dropped[key, default: []].append(Dropped(body: own.sent.body, cookies: own.cookies))
      }
    }
  }

  /// Closes a page.
  mutating func close(_ page: UInt64) {
    for (key, list) in held where key.page == page { for own in list { drop(key, own.id) } }
    dropped = dropped.filter { $0.key.page != page }
  }

  /// Closes every page.
  mutating func close() { for page in Set(held.keys.map(\.page) + dropped.keys.map(\.page)) { close(page) } }

  private mutating func drop(_ key: Key, _ id: Int) {
    guard let index = held[key]?.firstIndex(where: { $0.id == id }), let own = held[key]?[index] else {
      return
    }
    if own.taken == nil { counts.unused += 1 }
    remove(key, index)
  }

  private mutating func remove(_ key: Key, _ index: Int) {
    size -= held[key]?[index].answer?.body.count ?? 0
    held[key]?.remove(at: index)
    if held[key]?.isEmpty == true { held[key] = nil }
  }

  private static func isSameOrigin(_ a: String, _ b: String) -> Bool {
    guard let a = try? ResourceURL(a), let b = try? ResourceURL(b) else { return false }
    return a.scheme == b.scheme && a.authority == b.authority
  }

  /// Whether two bodies are equal: as JSON if both are JSON, otherwise byte by byte.
  private static func isSame(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    if a == b { return true }
    guard let a = try? JSONValue.parse(a), let b = try? JSONValue.parse(b) else { return false }
    return a == b
  }
}

/// How the calls that were sent ahead turned out.
public struct PrefetchCounts: Hashable, Sendable {
  /// Calls sent.
  public internal(set) var sent = 0
  /// Answers that pages took.
  public internal(set) var used = 0
  /// Answers that no page asked for, that were for other cookies, or whose page was closed first.
  public internal(set) var unused = 0
  /// Page requests that came after their answer was dropped.
  public internal(set) var late = 0
  /// Calls that brought no answer a page could use.
  public internal(set) var failed = 0
  /// The total time saved for pages, in milliseconds.
  public internal(set) var savedMilliseconds: Int64 = 0
}

/// An answer that was requested before the page asked for it.
public struct PrefetchedAnswer: Sendable {
  /// The head of the answer: status, headers without cookies, and final URL.
  public let head: NetworkHead
  /// The body, decoded.
  public let body: [UInt8]
}
