import Testing

@testable import XCacheRuntime

@Suite struct PrefetchTableTests {
  let key = PrefetchTable.Key(page: 1, method: "POST", url: "https://api.test/a")
  let json = Array(#"{"a":1,"b":"x"}"#.utf8)

  private func answer(_ count: Int = 3) -> PrefetchedAnswer {
    PrefetchedAnswer(
      head: NetworkHead(status: 200, headers: [], url: "https://api.test/a"),
      body: [UInt8](repeating: 1, count: count))
  }

  private enum Taken: Equatable { case none, answer, pending(Int) }

  private func take(
    _ table: inout PrefetchTable, _ key: PrefetchTable.Key, _ body: String = #"{"a":1,"b":"x"}"#,
    cookies: String? = nil, at now: Int64
  ) -> Taken {
    switch table.take(key, .init(body: Array(body.utf8), cookies: cookies), at: now) {
    case .none: .none
    case .answer: .answer
    case .pending(let id): .pending(id)
    }
  }

  private func setting(_ cookie: String) -> FetchStep {
    .answered(NetworkHead(status: 200, headers: [("Set-Cookie", cookie)], url: key.url), from: key.url)
  }

  /// The engine has an answer's cookies before its body has arrived.
  @Test func cookiesOfAnAnswerInProgress() {
    var table = PrefetchTable()
    let id = table.begin(key, .init(cookies: "a=1"), at: 0)
    table.record(setting("a=2"), of: key, id)
    guard case .pending(id) = table.take(key, .init(cookies: "a=2"), at: 5) else {
      Issue.record("its own cookies aren't accepted")
      return
    }
    #expect(table.end(key, id, answer(), at: 9) != nil)
    #expect(table.counts.used == 1)
  }

  /// If cookies change just before the call is sent, the answer is for the new ones, and a request that matched the old
  /// ones gets none.
  @Test func cookiesThatChangeJustBeforeTheCall() {
    for isTaken in [false, true] {
      var table = PrefetchTable()
      let id = table.begin(key, .init(body: json, cookies: "a=1"), at: 0)
      if isTaken { #expect(take(&table, key, cookies: "a=1", at: 1) == .pending(id)) }
      table.record(.sent(cookies: "a=2", to: key.url), of: key, id)
      #expect(table.end(key, id, answer(), at: 5) == nil)
      #expect(take(&table, key, cookies: "a=2", at: 6) == (isTaken ? .none : .answer))
    }
  }

  @Test func answersAreUsedOnce() {
    var table = PrefetchTable()
    let id = table.begin(key, .init(body: json, cookies: nil), at: 0)
    _ = table.end(key, id, answer(), at: 300)
    #expect(take(&table, key, #"{ "b":"x", "a":1 }"#, at: 400) == .answer)
    #expect(take(&table, key, at: 400) == .none && table.size == 0)
    #expect(table.counts.used == 1 && table.counts.savedMilliseconds == 300)
  }

  @Test func pagesWaitForCallsInProgress() {
    var table = PrefetchTable()
    let id = table.begin(key, .init(body: json, cookies: nil), at: 0)
    #expect(take(&table, key, at: 120) == .pending(id))
    #expect(take(&table, key, at: 120) == .none)
    _ = table.end(key, id, answer(), at: 300)
    #expect(table.counts.used == 1 && table.counts.savedMilliseconds == 120 && table.size == 0)
    #expect(!table.isWanted(key, id))
  }

  @Test(
    arguments: [
      ("another method", PrefetchTable.Key(page: 1, method: "PUT", url: "https://api.test/a"), "{}", nil),
      ("another page", PrefetchTable.Key(page: 2, method: "POST", url: "https://api.test/a"), "{}", nil),
      ("another URL", PrefetchTable.Key(page: 1, method: "POST", url: "https://api.test/b"), "{}", nil),
      (
        "another body", PrefetchTable.Key(page: 1, method: "POST", url: "https://api.test/a"), #"{"a":1}"#,
        nil
      ),
      ("no body", PrefetchTable.Key(page: 1, method: "POST", url: "https://api.test/a"), "", nil),
      ("other cookies", PrefetchTable.Key(page: 1, method: "POST", url: "https://api.test/a"), "{}", "a=2"),
    ] as [(String, PrefetchTable.Key, String, String?)])
  func otherRequestsGetNone(name: String, key: PrefetchTable.Key, body: String, cookies: String?) {
    var table = PrefetchTable()
    let id = table.begin(self.key, .init(body: Array("{}".utf8), cookies: nil), at: 0)
    #expect(take(&table, key, body, cookies: cookies, at: 1) == .none)
    _ = table.end(self.key, id, answer(), at: 2)
    #expect(take(&table, key, body, cookies: cookies, at: 3) == .none)
    // After another user's request, the answer was dropped.
    #expect(take(&table, self.key, "{}", at: 3) == (cookies == nil ? .answer : .none))
  }

  /// Cookies that the answer sets aren't another session.
  @Test func cookiesSetByTheAnswerMatch() {
    for (cookies, isTheirs) in [("a=1", true), ("a=2", true), ("a=3", false), (nil, false)] {
      var table = PrefetchTable()
      let id = table.begin(key, .init(body: json, cookies: "a=1"), at: 0)
      table.record(setting("a=2"), of: key, id)
      _ = table.end(key, id, answer(), at: 5)
      #expect(take(&table, key, cookies: cookies, at: 6) == (isTheirs ? .answer : .none))
      #expect(table.size == 0)
    }
  }

  @Test func answersAreDroppedAfterTenSeconds() {
    var table = PrefetchTable()
    let first = table.begin(key, .init(body: json, cookies: nil), at: 0)
    _ = table.end(key, first, answer(), at: 500)
    #expect(take(&table, key, at: 10_500) == .none && table.counts.late == 1 && table.size == 0)
    let second = table.begin(key, .init(body: json, cookies: nil), at: 0)
    _ = table.end(key, second, answer(), at: 500)
    table.expire(at: 10_499)
    #expect(table.size == 3)
    table.expire(at: 10_500)
    #expect(table.size == 0 && table.counts.unused == 1)
    #expect(table.counts.sent == 2 && table.counts.used == 0)
  }

  /// A request after its answer was dropped counts as late, once, while its page is open.
  @Test func lateRequestsAreCounted() {
    var table = PrefetchTable()
    func drop() {
      _ = table.end(key, table.begin(key, .init(body: json), at: 0), answer(), at: 500)
      table.expire(at: 10_500)
    }
    drop()
    #expect(take(&table, key, #"{"a":2}"#, at: 11_000) == .none && table.counts.late == 0)
    #expect(take(&table, key, cookies: "a=1", at: 11_000) == .none && table.counts.late == 0)
    #expect(take(&table, key, at: 60_000) == .none && table.counts.late == 1 && table.counts.unused == 0)
    #expect(take(&table, key, at: 60_000) == .none && table.counts.late == 1)
    drop()
    table.close(1)
    #expect(take(&table, key, at: 60_000) == .none && table.counts.late == 1 && table.counts.unused == 1)
  }

  @Test func closedPagesDropTheirAnswers() {
    var table = PrefetchTable()
    let first = table.begin(key, .init(body: json, cookies: nil), at: 0)
    _ = table.end(key, first, answer(), at: 5)
    let second = table.begin(key, .init(body: json, cookies: nil), at: 0)
    table.close(2)
    #expect(table.isWanted(key, second) && table.size == 3)
    table.close(1)
    #expect(!table.isWanted(key, second) && table.size == 0 && table.counts.unused == 2)
    _ = table.end(key, second, answer(), at: 9)
    #expect(table.size == 0)
  }

  @Test func failuresAndLargeAnswersAreDropped() {
    var table = PrefetchTable()
    let first = table.begin(key, .init(body: json, cookies: nil), at: 0)
    _ = table.end(key, first, nil, at: 1)
    #expect(take(&table, key, at: 2) == .none && table.counts.failed == 1)
    for _ in 0..<5 {
      let id = table.begin(key, .init(body: json, cookies: nil), at: 0)
      _ = table.end(key, id, answer(PrefetchTable.answerLimit), at: 1)
    }
    #expect(table.size == PrefetchTable.limit && table.counts.failed == 2)
  }
}
