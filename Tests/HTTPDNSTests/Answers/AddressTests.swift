import Testing

@testable import HTTPDNS

@Suite struct AddressCacheTests {
  let host = HostName.of("m.example.com")
  let now: Int64 = 1_800_000_000_000

  @Test func answersRunOut() {
    var cache = AddressCache()
    let answer = LookupAnswer.of("192.0.2.1", seconds: 60)
    cache.keep(answer, of: host, at: now)
    #expect(cache.fresh(host, at: now + 59_999) == answer && cache.fresh(host, at: now + 60_000) == nil)
    let hour = now + 60_000 + 3_600_000
    #expect(cache.stale(host, at: hour - 1) == answer && cache.stale(host, at: hour) == nil)
  }

  @Test(arguments: [(0, 10), (nil, 60), (.max, 86_400), (300, 300)] as [(Int?, Int64)])
  func timesHaveBounds(seconds: Int?, kept: Int64) {
    var cache = AddressCache()
    cache.keep(.of("192.0.2.1", seconds: seconds), of: host, at: now)
    #expect(
      cache.fresh(host, at: now + kept * 1000 - 1) != nil && cache.fresh(host, at: now + kept * 1000) == nil)
  }

  @Test func theyAreKeptOverRestarts() {
    var cache = AddressCache()
    cache.keep(.of("192.0.2.1", "2001:db8::1"), of: host, at: now)
    let again = AddressCache(saved: cache.saved, at: now + 1000)
    #expect(again.fresh(host, at: now + 59_999)?.addresses == cache.fresh(host, at: now)?.addresses)
    #expect(again.fresh(host, at: now + 60_000) == nil)
    // A clock that was set back by years makes them no fresher than a day.
    let past = AddressCache(saved: cache.saved, at: 0)
    #expect(past.fresh(host, at: 86_400_000) == nil && past.fresh(host, at: 0) != nil)
  }

  @Test(arguments: [
    "", "{", "[]", #"{"hosts":[]}"#, #"{"hosts":{"..":{"addresses":["192.0.2.1"],"expires":9}}}"#,
    #"{"hosts":{"m.example.com":{"addresses":["x"],"expires":1800000000001}}}"#,
    #"{"hosts":{"m.example.com":{"addresses":["192.0.2.1"]}}}"#,
  ])
  func aFileOfOthersIsNone(text: String) {
    #expect(AddressCache(saved: Array(text.utf8), at: now).stale(host, at: now) == nil)
  }

  @Test func anotherNetworkMakesThemStale() {
    var cache = AddressCache()
    cache.keep(.of("192.0.2.1"), of: host, at: now)
    cache.expire(at: now + 5)
    #expect(cache.fresh(host, at: now + 5) == nil && cache.stale(host, at: now + 5) != nil)
  }

  @Test func whatIsAbsentIsForgotten() {
    var cache = AddressCache()
    for number in 0..<2_000 { cache.keepAbsent(.of("h\(number).test"), at: now + Int64(number)) }
    let absent = (0..<2_000).filter { cache.isAbsent(.of("h\($0).test"), at: now + 2_000) }
    #expect(absent == Array(1_488..<2_000))
    cache = AddressCache()
    cache.keepAbsent(host, at: now)
    #expect(cache.isAbsent(host, at: now + 29_999) && !cache.isAbsent(host, at: now + 30_000))
    // Neither a clock that was set back nor a file keeps it.
    #expect(!cache.isAbsent(host, at: now - 1))
    #expect(!AddressCache(saved: cache.saved, at: now).isAbsent(host, at: now))
    cache.keep(.of("192.0.2.1"), of: host, at: now)
    #expect(!cache.isAbsent(host, at: now))
  }

  @Test func thereIsABound() {
    var cache = AddressCache()
    for number in 0..<2_000 {
      cache.keep(.of("192.0.2.1"), of: .of("h\(number).test"), at: now + Int64(number))
    }
    let held = (0..<2_000).filter { cache.fresh(.of("h\($0).test"), at: now + 2_000) != nil }
    #expect(held == Array(1_488..<2_000))
  }
}

@Suite struct AddressHealthTests {
  let host = HostName.of("m.example.com")

  private func ordered(_ health: AddressHealth, _ texts: [String], at now: Int64 = 0) -> [String] {
    health.ordered(texts.compactMap { IPAddress($0) }, of: host, at: now).map(\.text)
  }

  private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

  /// RFC 8305 §4: the families take turns, and IPv6 goes first.
  @Test func familiesTakeTurns() {
    #expect(
      ordered(AddressHealth(), ["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"])
        == ["2001:db8::1", "192.0.2.1", "192.0.2.2", "192.0.2.3"])
  }

  @Test func theFastestGoesFirst() throws {
    var health = AddressHealth()
    health.connected(try address("192.0.2.3"), of: host, after: 20)
    health.connected(try address("192.0.2.2"), of: host, after: 50)
    #expect(
      ordered(health, ["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"])
        == ["192.0.2.3", "2001:db8::1", "192.0.2.2", "192.0.2.1"])
  }

  @Test func whatFailsIsAvoidedForLongerEachTime() throws {
    var health = AddressHealth()
    let bad = try address("192.0.2.1")
    var now: Int64 = 0
    for pause: Int64 in [60_000, 120_000, 240_000, 480_000, 600_000, 600_000] {
      health.failed(bad, of: host, at: now)
      #expect(ordered(health, ["192.0.2.1"], at: now + pause - 1).isEmpty)
      #expect(ordered(health, ["192.0.2.1"], at: now + pause) == ["192.0.2.1"])
      now += pause
    }
    health.connected(bad, of: host, after: 5)
    health.failed(bad, of: host, at: now)
    #expect(ordered(health, ["192.0.2.1"], at: now + 60_000) == ["192.0.2.1"])
    // Another host at the same address is another matter.
    #expect(health.ordered([bad], of: .of("other.test"), at: now) == [bad])
  }

  @Test func aServiceIsLeftAloneForAWhile() {
    var health = ServiceHealth()
    health.failed(at: 0)
    #expect(!health.isDown(at: 0))
    health.failed(at: 0)
    #expect(health.isDown(at: 29_999) && !health.isDown(at: 30_000))
    health.failed(at: 30_000)
    #expect(health.isDown(at: 89_999) && !health.isDown(at: 90_000))
    for _ in 0..<100 { health.failed(at: 90_000) }
    #expect(health.isDown(at: 389_999) && !health.isDown(at: 390_000))
    health.answered()
    #expect(!health.isDown(at: 90_000))
  }
}
