import Manifests

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

  private struct PendingAnswer {
    let id: Int
    let body: [UInt8]
    /// The value of `Cookie` in the call, and the values since the answer set cookies of its own.
    var cookies: [String?]
    let start: Int64
    /// The answer and when it was complete; nil while it is on its way.
    var answer: PrefetchedAnswer?
    var end: Int64?
    /// When the page asked; nil if it hasn't yet.
    var taken: Int64?
  }

  enum Taking {
    case none
    /// The answer is here.
    case answer(PrefetchedAnswer)
    /// The answer is on its way, under this number.
    case underWay(Int)
  }

  /// What a dropped answer was for.
  private struct Dropped {
    let body: [UInt8]
    let cookies: [String?]
  }

  private var held: [Key: [PendingAnswer]] = [:]
  /// Dropped answers of pages that are still open and may ask for them yet.
  private var dropped: [Key: [Dropped]] = [:]
  private var nextID = 0
  /// The bytes of the answers held.
  private(set) var size = 0
  private(set) var counts = PrefetchCounts()

  /// The milliseconds for which an answer waits for its page.
  static let keepFor: Int64 = 10_000
  /// The most bytes of one answer, and of all of them; an answer beyond either is dropped.
  package static let answerLimit = 4 << 20
  static let limit = 16 << 20
  /// The most dropped answers that are remembered; beyond that all are forgotten, which only makes the counts less exact.
  private static let mostDropped = 256

  /// Adds a call that was sent, and returns its number.
  mutating func begin(_ key: Key, body: [UInt8], cookies: String?, at now: Int64) -> Int {
    nextID += 1
    held[key, default: []].append(PendingAnswer(id: nextID, body: body, cookies: [cookies], start: now))
    counts.sent += 1
    return nextID
  }

  /// Adds the value that `Cookie` has since a call's answer changed it.
  mutating func changed(_ cookies: String?, of key: Key, _ id: Int) {
    guard let place = held[key]?.firstIndex(where: { $0.id == id }) else { return }
    held[key]?[place].cookies.append(cookies)
  }

  /// Ends a call, with its answer or, if nil, without one that the page could use.
  ///
  /// `cookies` is the value that `Cookie` would have now.
  mutating func end(_ key: Key, _ id: Int, _ answer: PrefetchedAnswer?, cookies: String?, at now: Int64) {
    guard let place = held[key]?.firstIndex(where: { $0.id == id }), let own = held[key]?[place] else {
      return
    }
    guard let answer, own.taken != nil || size + answer.body.count <= Self.limit else {
      counts.failed += 1
      return remove(key, place)
    }
    if let taken = own.taken {
      counts.used += 1
      counts.savedMilliseconds += taken - own.start
      return remove(key, place)
    }
    size += answer.body.count
    held[key]?[place].answer = answer
    held[key]?[place].end = now
    held[key]?[place].cookies.append(cookies)
  }

  /// Takes the answer to a page's request. Each answer is returned once.
  mutating func take(_ key: Key, body: [UInt8], cookies: String?, at now: Int64) -> Taking {
    let place = held[key]?.firstIndex { own in
      own.taken == nil && own.cookies.contains(cookies) && Self.isSame(own.body, body)
    }
    guard let place, let own = held[key]?[place] else {
      noteLate(key, body, cookies)
      return .none
    }
    guard let answer = own.answer, let end = own.end else {
      held[key]?[place].taken = now
      return .underWay(own.id)
    }
    remove(key, place)
    guard now - end < Self.keepFor else {
      counts.late += 1
      return .none
    }
    counts.used += 1
    counts.savedMilliseconds += end - own.start
    return .answer(answer)
  }

  /// Counts a request whose answer was dropped because it waited too long.
  private mutating func noteLate(_ key: Key, _ body: [UInt8], _ cookies: String?) {
    let place = dropped[key]?.firstIndex { $0.cookies.contains(cookies) && Self.isSame($0.body, body) }
    guard let place else { return }
    dropped[key]?.remove(at: place)
    counts.unused -= 1
    counts.late += 1
  }

  /// Returns the page whose answer goes to a request of the app's own, which belongs to no page: the one that was opened
  /// first.
  ///
  /// `cookies` is nil if there are none.
  func page(method: String, url: String, body: [UInt8], cookies: String?, at now: Int64) -> UInt64? {
    held.filter { key, list in
      key.method == method && key.url == url
        && list.contains { own in
          own.taken == nil && own.cookies.contains(cookies) && Self.isSame(own.body, body)
            && own.end.map { now - $0 < Self.keepFor } ?? true
        }
    }
    .keys.map(\.page).min()
  }

  /// Whether an answer that nobody has taken is waiting or on its way.
  func hasAny(method: String, url: String, at now: Int64) -> Bool {
    held.contains { key, list in
      key.method == method && key.url == url
        && list.contains { $0.taken == nil && $0.end.map { now - $0 < Self.keepFor } ?? true }
    }
  }

  /// Whether anyone may still want the answer.
  func isWanted(_ key: Key, _ id: Int) -> Bool { held[key]?.contains { $0.id == id } ?? false }

  /// Drops answers that waited too long.
  mutating func expire(at now: Int64) {
    for (key, list) in held {
      for own in list where own.end.map({ now - $0 >= Self.keepFor }) ?? false {
        drop(key, own.id)
        if dropped.values.reduce(0, { $0 + $1.count }) >= Self.mostDropped { dropped = [:] }
        dropped[key, default: []].append(Dropped(body: own.body, cookies: own.cookies))
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
    guard let place = held[key]?.firstIndex(where: { $0.id == id }), let own = held[key]?[place] else {
      return
    }
    if own.taken == nil { counts.unused += 1 }
    remove(key, place)
  }

  private mutating func remove(_ key: Key, _ place: Int) {
    size -= held[key]?[place].answer?.body.count ?? 0
    held[key]?.remove(at: place)
    if held[key]?.isEmpty == true { held[key] = nil }
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
  /// Answers that no page asked for, or whose page was closed first.
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
