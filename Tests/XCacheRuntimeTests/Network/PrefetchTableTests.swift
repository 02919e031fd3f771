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

  private enum Taken: Equatable { case none, answer, underWay(Int) }

  private func take(
    _ table: inout PrefetchTable, _ key: PrefetchTable.Key, _ body: String = #"{"a":1,"b":"x"}"#,
    cookies: String? = nil, at now: Int64
  ) -> Taken {
    switch table.take(key, body: Array(body.utf8), cookies: cookies, at: now) {
    case .none: .none
    case .answer: .answer
    case .underWay(let id): .underWay(id)
    }
  }

  /// The answer's own cookies are the page's before its body is there.
  @Test func cookiesOfAnAnswerThatIsOnItsWay() {
    var table = PrefetchTable()
    let id = table.begin(key, body: [], cookies: "a=1", at: 0)
    table.changed("a=2", of: key, id)
    guard case .none = table.take(key, body: [], cookies: "a=3", at: 5) else {
      Issue.record("other cookies")
      return
    }
    guard case .underWay(id) = table.take(key, body: [], cookies: "a=2", at: 5) else {
      Issue.record("its own cookies")
      return
    }
    table.end(key, id, answer(), cookies: "a=2", at: 9)
    #expect(table.counts.used == 1)
  }

  @Test func eachIsGivenOnce() {
    var table = PrefetchTable()
    let id = table.begin(key, body: json, cookies: nil, at: 0)
    table.end(key, id, answer(), cookies: nil, at: 300)
    #expect(take(&table, key, #"{ "b":"x", "a":1 }"#, at: 400) == .answer)
    #expect(take(&table, key, at: 400) == .none && table.size == 0)
    #expect(table.counts.used == 1 && table.counts.savedMilliseconds == 300)
  }

  @Test func aPageWaitsForWhatIsUnderWay() {
    var table = PrefetchTable()
    let id = table.begin(key, body: json, cookies: nil, at: 0)
    #expect(take(&table, key, at: 120) == .underWay(id))
    #expect(take(&table, key, at: 120) == .none)
    table.end(key, id, answer(), cookies: nil, at: 300)
    #expect(table.counts.used == 1 && table.counts.savedMilliseconds == 120 && table.size == 0)
    #expect(!table.isWanted(key, id))
  }

  @Test(
    arguments: [
      ("another method", PrefetchTable.Key(page: 1, method: "PUT", url: "https://api.test/a"), "{}", nil),
      ("another page", PrefetchTable.Key(page: 2, method: "POST", url: "https://api.test/a"), "{}", nil),
      ("another address", PrefetchTable.Key(page: 1, method: "POST", url: "https://api.test/b"), "{}", nil),
      (
        "another body", PrefetchTable.Key(page: 1, method: "POST", url: "https://api.test/a"), #"{"a":1}"#,
        nil
      ),
      ("no body", PrefetchTable.Key(page: 1, method: "POST", url: "https://api.test/a"), "", nil),
      ("other cookies", PrefetchTable.Key(page: 1, method: "POST", url: "https://api.test/a"), "{}", "a=2"),
    ] as [(String, PrefetchTable.Key, String, String?)])
  func othersGetNone(name: String, key: PrefetchTable.Key, body: String, cookies: String?) {
    var table = PrefetchTable()
    let id = table.begin(self.key, body: Array("{}".utf8), cookies: nil, at: 0)
    #expect(take(&table, key, body, cookies: cookies, at: 1) == .none)
    table.end(self.key, id, answer(), cookies: nil, at: 2)
    #expect(take(&table, key, body, cookies: cookies, at: 3) == .none)
    #expect(take(&table, self.key, "{}", at: 3) == .answer)
  }

  /// The answer's own cookies make no other session of it.
  @Test func cookiesOfTheAnswerAreKnown() {
    for cookies in ["a=1", "a=2"] {
      var table = PrefetchTable()
      let id = table.begin(key, body: json, cookies: "a=1", at: 0)
      table.end(key, id, answer(), cookies: "a=2", at: 5)
      #expect(take(&table, key, cookies: nil, at: 6) == .none)
      #expect(take(&table, key, cookies: "a=3", at: 6) == .none)
      #expect(take(&table, key, cookies: cookies, at: 6) == .answer)
    }
  }

  @Test func answersAreDroppedAfterTenSeconds() {
    var table = PrefetchTable()
    let first = table.begin(key, body: json, cookies: nil, at: 0)
    table.end(key, first, answer(), cookies: nil, at: 500)
    #expect(take(&table, key, at: 10_500) == .none && table.counts.late == 1 && table.size == 0)
    let second = table.begin(key, body: json, cookies: nil, at: 0)
    table.end(key, second, answer(), cookies: nil, at: 500)
    table.expire(at: 10_499)
    #expect(table.size == 3)
    table.expire(at: 10_500)
    #expect(table.size == 0 && table.counts.unused == 1)
    #expect(table.counts.sent == 2 && table.counts.used == 0)
  }

  /// A request that comes when the answer is gone is late, once; it is the page's own if its page is there.
  @Test func whoComesTooLateIsCounted() {
    var table = PrefetchTable()
    func drop() {
      table.end(key, table.begin(key, body: json, cookies: nil, at: 0), answer(), cookies: nil, at: 500)
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

  @Test func aPageThatIsGoneWantsNothing() {
    var table = PrefetchTable()
    let first = table.begin(key, body: json, cookies: nil, at: 0)
    table.end(key, first, answer(), cookies: nil, at: 5)
    let second = table.begin(key, body: json, cookies: nil, at: 0)
    table.close(2)
    #expect(table.isWanted(key, second) && table.size == 3)
    table.close(1)
    #expect(!table.isWanted(key, second) && table.size == 0 && table.counts.unused == 2)
    table.end(key, second, answer(), cookies: nil, at: 9)
    #expect(table.size == 0)
  }

  @Test func failuresAndTooMuchAreNone() {
    var table = PrefetchTable()
    let first = table.begin(key, body: json, cookies: nil, at: 0)
    table.end(key, first, nil, cookies: nil, at: 1)
    #expect(take(&table, key, at: 2) == .none && table.counts.failed == 1)
    for _ in 0..<5 {
      let id = table.begin(key, body: json, cookies: nil, at: 0)
      table.end(key, id, answer(PrefetchTable.answerLimit), cookies: nil, at: 1)
    }
    #expect(table.size == PrefetchTable.limit && table.counts.failed == 2)
  }
}
