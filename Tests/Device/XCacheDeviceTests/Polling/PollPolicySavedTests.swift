import DeviceTestSupport
import System
import Testing

@testable import XCacheDevice

@Suite struct PollPolicySavedTests {
  private func policy() -> PollPolicy {
    var policy = PollPolicy(hasFallback: true)
    for i in 0..<7 {
      _ = policy.begin(at: 1_800_000_000_000 + Int64(i), force: true)
      policy.recordFailure(of: .origin, at: 1_800_000_000_000 + Int64(i), chance: 0.1)
    }
    policy.recordAnswer(from: .mirror, interval: 90)
    return policy
  }

  @Test func stateRoundTrips() {
    let saved = policy().saved(server: "https://o.test")
    #expect(PollPolicy(saved: saved, server: "https://o.test", hasFallback: true) == policy())
    let fresh = PollPolicy(hasFallback: true).saved(server: "https://o.test")
    #expect(
      PollPolicy(saved: fresh, server: "https://o.test", hasFallback: true) == PollPolicy(hasFallback: true))
  }

  @Test func otherServersStartAfresh() {
    let saved = policy().saved(server: "https://o.test")
    #expect(
      PollPolicy(saved: saved, server: "https://p.test", hasFallback: true) == PollPolicy(hasFallback: true))
  }

  @Test func originIsAskedWithoutAFallback() {
    let saved = policy().saved(server: "https://o.test")
    #expect(PollPolicy(saved: saved, server: "https://o.test", hasFallback: false).source == .origin)
  }

  @Test(arguments: [
    "", "{", "[]", "{}", #"{"failures":-1,"interval":30,"originDue":0,"originWait":30000,"#,
    #"{"failures":1,"interval":5,"originDue":0,"originWait":30000,"server":"s","source":"origin"}"#,
    #"{"failures":1,"interval":30,"originDue":-1,"originWait":30000,"server":"s","source":"origin"}"#,
    #"{"failures":1,"interval":30,"originDue":0,"originWait":1,"server":"s","source":"origin"}"#,
    #"{"failures":1,"interval":30,"originDue":0,"originWait":30000,"server":"s","source":"moon"}"#,
  ])
  func damagedStateStartsAfresh(text: String) {
    #expect(PollPolicy(saved: bytes(text), server: "s", hasFallback: true) == PollPolicy(hasFallback: true))
  }

  @Test(arguments: [Int64.min, -1, .max])
  func absurdTimesDoNotTrap(time: Int64) {
    let text =
      #"{"failures":9,"interval":30,"lastPoll":\#(time),"originDue":9007199254740991,"originWait":30000,"server":"s","source":"mirror"}"#
    var policy = PollPolicy(saved: bytes(text), server: "s", hasFallback: true)
    #expect(policy.failures == 9)
    #expect(policy.begin(at: 1_800_000_000_000) == .poll(.origin))
  }

  private static let device = "https://m.test/p"

  /// The saved state during a poll, and afterwards.
  @Test(arguments: [true, false]) func pollsAreSavedBeforeTheirAnswer(isAnswered: Bool) throws {
    let bench = try Bench()
    try bench.origin.publish([Self.device: bytes("one")])
    let path = "\(bench.settings().folder)/poll.json"
    let during = Locked<[PollPolicy]>([])
    bench.origin.fail { url in
      guard url.contains("configure.json") else { return nil }
      let saved = try? DurableFile.read(path)
      during.withLock { $0.append(PollPolicy(saved: saved, server: FakeOrigin.server, hasFallback: false)) }
      return isAnswered ? nil : .status(500)
    }
    let device = try bench.device()
    _ = try? device.update()
    let told = during.withLock { $0 }
    #expect(told.map(\.failures) == [1] && told.map(\.lastPoll) == [bench.clock.now])
    let after = PollPolicy(
      saved: try DurableFile.read(path), server: FakeOrigin.server, hasFallback: false)
    #expect(after.failures == (isAnswered ? 0 : 1) && after.lastPoll == bench.clock.now)
  }
}
