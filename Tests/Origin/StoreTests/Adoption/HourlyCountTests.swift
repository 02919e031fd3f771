import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// The counts of hours that an overview's trends are made of.
@Suite struct HourlyCountTests {
  @Test func hoursOutsideAreLeftOut() throws {
    let now = Locked<Int64>(100 * 3_600_000)
    let scratch = Scratch()
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    let store = try scratch.open(options)
    _ = try store.createChannel(
      AppName("shop"), .online, publicURL: BaseURL("https://cdn.example.com"), by: .local)
    let channel = try store.channel(AppName("shop"), .online)
    for hour in [99, 100, 101, 102] as [Int64] {
      now.withLock { $0 = hour * 3_600_000 }
      try store.count([
        PollCount(channel: channel.id, version: PollCount.none, polls: Int(hour), sample: .none)
      ])
    }
    #expect(try store.hourlyCounts(from: 200, hours: 2).isEmpty)
    let counts = try #require(try store.hourlyCounts(from: 100, hours: 2)[channel.id])
    #expect(counts.polls(of: nil) == [100, 101] && counts.failures == [0, 0])
    #expect(counts.polls(of: [7]) == [0, 0] && counts.polls(of: [PollCount.none]) == [100, 101])
  }
}
