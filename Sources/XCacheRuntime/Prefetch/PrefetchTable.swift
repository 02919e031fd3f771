import Manifests

/// The answers that were asked for before pages did: which are under way, which wait, and for how long.
///
/// Decides alone; `PrefetchCenter` sends and waits.
package struct PrefetchTable {
  /// What a page's request has to be like to get an answer.
  struct Key: Hashable, Sendable {
    let page: UInt64
    let method: String
    let url: String
  }

  private struct PendingAnswer {
    let id: Int
    let body: [UInt8]
    /// What `Cookie` said, and what it says since the answer's own cookies were taken.
    var cookies: [String?]
    let start: Int64
    /// The answer and when it was whole; nil while it is under way.
    var answer: PrefetchedAnswer?
    var end: Int64?
    /// When the page asked; nil: it didn't yet.
    var taken: Int64?
  }

  enum Taking {
    case none
    /// It is there.
    case answer(PrefetchedAnswer)
    /// It is under way, under this number.
    case underWay(Int)
  }

  /// What an answer was for that was dropped.
  private struct Dropped {
    let body: [UInt8]
    let cookies: [String?]
  }

  private var held: [Key: [PendingAnswer]] = [:]
  /// Of pages that are still there, which may ask yet.
  private var dropped: [Key: [Dropped]] = [:]
  private var nextID = 0
  /// Bytes of answers.
  private(set) var size = 0
  private(set) var counts = PrefetchCounts()

  /// Milliseconds for which an answer waits for its page.
  static let keepFor: Int64 = 10_000
  /// Bytes of one answer, and of all, above which one is dropped.
  package static let answerLimit = 4 << 20
  static let limit = 16 << 20
  /// Dropped answers that are remembered; of more, all are forgotten, which costs a count.
  private static let mostDropped = 256

  /// A call was sent; gives its number.
  mutating func begin(_ key: Key, body: [UInt8], cookies: String?, at now: Int64) -> Int {
    nextID += 1
    held[key, default: []].append(PendingAnswer(id: nextID, body: body, cookies: [cookies], start: now))
    counts.sent += 1
    return nextID
  }

  /// What `Cookie` would say now that a call's answer has changed it.
  mutating func changed(_ cookies: String?, of key: Key, _ id: Int) {
    guard let place = held[key]?.firstIndex(where: { $0.id == id }) else { return }
    held[key]?[place].cookies.append(cookies)
  }

  /// A call is over; nil: without an answer that the page could use.
  ///
  /// - Parameter cookies: what `Cookie` would say now.
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

  /// A page asks. Each answer is given once.
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

  /// Nobody waited for the page any more.
  private mutating func noteLate(_ key: Key, _ body: [UInt8], _ cookies: String?) {
    let place = dropped[key]?.firstIndex { $0.cookies.contains(cookies) && Self.isSame($0.body, body) }
    guard let place else { return }
    dropped[key]?.remove(at: place)
    counts.unused -= 1
    counts.late += 1
  }

  /// The page whose answer a request of the app's own gets, where no page is known of: the one that was opened first.
  ///
  /// - Parameter cookies: nil inside: there are none.
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

  /// Whether an answer waits, or is under way, that nobody has taken.
  func hasAny(method: String, url: String, at now: Int64) -> Bool {
    held.contains { key, list in
      key.method == method && key.url == url
        && list.contains { $0.taken == nil && $0.end.map { now - $0 < Self.keepFor } ?? true }
    }
  }

  /// Whether anybody may still want the answer.
  func isWanted(_ key: Key, _ id: Int) -> Bool { held[key]?.contains { $0.id == id } ?? false }

  /// Drops what waited too long.
  mutating func expire(at now: Int64) {
    for (key, list) in held {
      for own in list where own.end.map({ now - $0 >= Self.keepFor }) ?? false {
        drop(key, own.id)
        if dropped.values.reduce(0, { $0 + $1.count }) >= Self.mostDropped { dropped = [:] }
        dropped[key, default: []].append(Dropped(body: own.body, cookies: own.cookies))
      }
    }
  }

  /// A page is gone.
  mutating func close(_ page: UInt64) {
    for (key, list) in held where key.page == page { for own in list { drop(key, own.id) } }
    dropped = dropped.filter { $0.key.page != page }
  }

  /// Every page is gone.
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

  /// Bodies are compared by value: as JSON where both are, else byte by byte.
  private static func isSame(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    if a == b { return true }
    guard let a = try? JSONValue.parse(a), let b = try? JSONValue.parse(b) else { return false }
    return a == b
  }
}

/// How often what became of the calls that were sent ahead.
public struct PrefetchCounts: Hashable, Sendable {
  /// Calls that were sent.
  public internal(set) var sent = 0
  /// Answers that pages took.
  public internal(set) var used = 0
  /// Answers that no page asked for, or whose page was closed.
  public internal(set) var unused = 0
  /// Requests of pages that came when the answer was dropped already.
  public internal(set) var late = 0
  /// Calls without an answer that a page could use.
  public internal(set) var failed = 0
  /// What pages waited less, all together, in milliseconds.
  public internal(set) var savedMilliseconds: Int64 = 0
}

/// An answer that was asked for before the page did.
public struct PrefetchedAnswer: Sendable {
  /// Of the answer: status, headers without cookies, where it came from.
  public let head: NetworkHead
  /// Decoded.
  public let body: [UInt8]
}
