import DeviceTestSupport
import Testing

@testable import HTTPDNS

@Suite struct AddressCacheTests {
  let host = HostName.of("m.example.com")
  let now: Int64 = 1_800_000_000_000

  @Test func answersExpire() {
    var cache = AddressCache()
    let answer = LookupAnswer.of("192.0.2.1", seconds: 60)
    cache.keep(answer, of: host, at: now)
    #expect(cache.fresh(host, at: now + 59_999) == answer && cache.fresh(host, at: now + 60_000) == nil)
    let hour = now + 60_000 + 3_600_000
    #expect(cache.stale(host, at: hour - 1) == answer && cache.stale(host, at: hour) == nil)
  }

  @Test(arguments: [(0, 10), (nil, 60), (.max, 86_400), (300, 300)] as [(Int?, Int64)])
  func ttlsAreClamped(seconds: Int?, kept: Int64) {
    var cache = AddressCache()
    cache.keep(.of("192.0.2.1", seconds: seconds), of: host, at: now)
    #expect(
      cache.fresh(host, at: now + kept * 1000 - 1) != nil && cache.fresh(host, at: now + kept * 1000) == nil)
  }

  @Test func answersSurviveARestart() {
    var cache = AddressCache()
    cache.keep(.of("192.0.2.1", "2001:db8::1"), of: host, at: now)
    // A restart begins another monotonic clock; the wall clock tells how long it took.
    let saved = cache.saved(at: now + 500, unix: 2_000_000_000_000)
    let again = AddressCache(saved: saved, at: 7, unix: 2_000_000_000_500)
    #expect(again.fresh(host, at: 7 + 58_999)?.addresses == cache.fresh(host, at: now)?.addresses)
    #expect(again.fresh(host, at: 7 + 59_000) == nil)
    // Answers that expired more than an hour ago aren't read.
    let late = AddressCache(saved: saved, at: 7, unix: 2_000_000_059_500 + 3_600_000)
    #expect(late.stale(host, at: 7) == nil)
  }

  /// A wall clock that was set back doesn't make answers fresher than they were when the file was written.
  @Test(arguments: [1, 1_800_000_000_000, 1_999_999_999_999] as [Int64])
  func filesFromTheFutureCountAsWrittenNow(unix: Int64) {
    var cache = AddressCache()
    cache.keep(.of("192.0.2.1"), of: host, at: now)
    let saved = cache.saved(at: now + 20_000, unix: 2_000_000_000_000)
    let again = AddressCache(saved: saved, at: 7, unix: unix)
    #expect(again.fresh(host, at: 7 + 39_999) != nil && again.fresh(host, at: 7 + 40_000) == nil)
  }

  /// Files of older versions have no time of writing. Expirations far in the future are clamped.
  @Test(
    arguments: [("1800000000000", 0), ("1900000000000", 86_400_000), ("9007199254740991", 86_400_000)]
      as [(String, Int64)])
  func filesWithoutATimeAreRead(expires: String, left: Int64) {
    let text = #"{"hosts":{"m.example.com":{"addresses":["192.0.2.1"],"expires":\#(expires)}}}"#
    let cache = AddressCache(saved: Array(text.utf8), at: 7, unix: now)
    #expect(cache.fresh(host, at: 7 + left) == nil && cache.stale(host, at: 7 + left) != nil)
    #expect((cache.fresh(host, at: 6 + left) != nil))
  }

  @Test(arguments: [
    "", "{", "[]", #"{"hosts":[]}"#, #"{"hosts":{"..":{"addresses":["192.0.2.1"],"expires":9}}}"#,
    #"{"hosts":{"m.example.com":{"addresses":["x"],"expires":1800000000001}}}"#,
    #"{"hosts":{"m.example.com":{"addresses":["192.0.2.1"]}}}"#,
  ])
  func invalidFilesAreIgnored(text: String) {
    #expect(AddressCache(saved: Array(text.utf8), at: now, unix: now).stale(host, at: now) == nil)
  }

  @Test func expiredAnswersAreStale() {
    var cache = AddressCache()
    cache.keep(.of("192.0.2.1"), of: host, at: now)
    cache.expire(at: now + 5)
    #expect(cache.fresh(host, at: now + 5) == nil && cache.stale(host, at: now + 5) != nil)
  }

  @Test func absentHostsAreForgotten() {
    var cache = AddressCache()
    for number in 0..<2_000 { cache.keepAbsent(.of("h\(number).test"), at: now + Int64(number)) }
    let absent = (0..<2_000).filter { cache.isAbsent(.of("h\($0).test"), at: now + 2_000) }
    #expect(absent == Array(1_488..<2_000))
    cache = AddressCache()
    cache.keepAbsent(host, at: now)
    #expect(cache.isAbsent(host, at: now + 29_999) && !cache.isAbsent(host, at: now + 30_000))
    // Absence isn't saved.
    #expect(
      !AddressCache(saved: cache.saved(at: now, unix: now), at: now, unix: now).isAbsent(host, at: now))
    cache.keep(.of("192.0.2.1"), of: host, at: now)
    #expect(!cache.isAbsent(host, at: now))
  }

  @Test func numberOfHostsIsLimited() {
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

  /// RFC 8305 §4: the families alternate, beginning with IPv6.
  @Test func familiesAlternate() {
    #expect(
      ordered(AddressHealth(), ["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"])
        == ["2001:db8::1", "192.0.2.1", "192.0.2.2", "192.0.2.3"])
  }

  @Test func fastestAddressesComeFirst() throws {
    var health = AddressHealth()
    health.connected(try address("192.0.2.3"), of: host, after: 20)
    health.connected(try address("192.0.2.2"), of: host, after: 50)
    #expect(
      ordered(health, ["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"])
        == ["192.0.2.3", "2001:db8::1", "192.0.2.2", "192.0.2.1"])
  }

  @Test func failedAddressesAreAvoidedForLongerEachTime() throws {
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
    // Other hosts at the same address aren't affected.
    #expect(health.ordered([bad], of: .of("other.test"), at: now) == [bad])
  }

  @Test func failingServicesAreAvoidedForAWhile() {
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
