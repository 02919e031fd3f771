import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// How far numbers of polls may be off that were worked out from batches.
@Suite struct PollSampleTests {
  private let scratch = Scratch()
  private let now = Locked<Int64>(1_763_553_600_000)

  /// 9,604 batches that stand for equally many polls are right within a point: 1.96 · √(½ · ½ / 9604) = 1 %.
  @Test(
    arguments: [
      (9_604, 1, 9_604, 100), (9_604, 400, 9_604 * 400, 100), (1, 400, 400, 9_800), (96, 5, 480, 1_000),
      // Half of the polls were counted themselves, and are right.
      (9_604, 400, 2 * 9_604 * 400, 50), (9_604, 400, 1_000 * 9_604 * 400, 0),
      // Numbers of a damaged row.
      (1, 400, 3, 10_000), (1, 400, 0, nil), (1, 400, -1, nil), (0, 400, 400, nil),
    ] as [(Int, Int, Int, Int?)])
  func marginOfEqualBatches(batches: Int, each: Int, polls: Int, margin: Int?) {
    var sample = PollSample.none
    for _ in 0..<batches { sample.add(batchOf: each) }
    #expect(sample.margin(of: polls) == margin)
  }

  /// A few batches that count much make a number less certain: of 100 with 1 and one with 100, an effective size of 3.96.
  @Test func marginOfUnequalBatches() {
    var sample = PollSample.none
    for _ in 0..<100 { sample.add(batchOf: 1) }
    sample.add(batchOf: 100)
    #expect(sample.batches == 101 && sample.squares == 10_100)
    #expect(sample.margin(of: 200) == 4_924)
  }

  @Test func samplesAreKeptWithTheirPolls() throws {
    var options = Store.Options()
    options.clock = { [now] in now.withLock { $0 } }
    let store = try scratch.open(options)
    for version in 0..<140 as Range<Int64> {
      try store.publish(base: version, set: ["a.js": Sample("a\(version)")])
    }
    let shop = try store.shop()
    let one = PollSample(batches: 2, squares: 20_000)
    for _ in 0..<2 {
      try store.count((1...140).map { PollCount(channel: shop.id, version: $0, polls: 200, sample: one) })
      try store.count([PollCount(channel: shop.id, version: 140, polls: 7)])
    }
    let all = PollSample(batches: 560, squares: 5_600_000)
    let adoption = try store.adoption(of: shop, hours: 1)
    #expect(adoption.sample == all && adoption.polls == 56_014)
    #expect(adoption.shares.first?.sample == PollSample(batches: 4, squares: 40_000))
    #expect(try store.channelHealth().first?.sample == all)
    // A day's row has them, too, and so have versions that count together.
    now.withLock { $0 += 10 * 86_400_000 }
    while try store.rollUpCounts() {}
    let later = try store.adoption(of: shop, hours: 20 * 24)
    #expect(later.sample == all && later.shares.last?.version == PollCount.other)
    #expect(later.shares.first?.sample == PollSample(batches: 4, squares: 40_000))
  }
}
