import Manifests
import Store
import Testing

@testable import Origin

/// Polls that are worked out from devices' batches.
@Suite struct SampledPollsTests {
  private static let second: UInt64 = 1_000_000_000

  /// A batch of a device; without `polls`, of one that doesn't count them.
  private static func batch(_ polls: Int64?, version: Int64 = 3, local: Int64 = 0) -> DeviceBatch {
    var counts = DeviceCounts()
    counts.add(.polls, polls ?? 0)
    counts.add(.local, local)
    return DeviceBatch(version: ManifestVersion(version), counts: counts, countsPolls: polls != nil)
  }

  /// What batches of one device come to, with the share that the channel asks for.
  private static func polls(_ batches: [DeviceBatch], share: Int?) -> [PollCount] {
    var sampled = SampledPolls()
    for batch in batches { sampled.add(batch, of: 1, AnswerExtras(reports: share), now: 0) }
    return sampled.take()
  }

  @Test(
    arguments: [
      (4, nil, 4), (4, 10_000, 4), (4, 100, 400), (1, 5_000, 2), (1, 1, 10_000),
      // Twice a device's polls at most.
      (8, 100, 800), (9, 100, 800), (1_000_000, 100, 800), (1_000_000, 1, 80_000),
    ] as [(Int64, Int?, Int)])
  func batchStandsForThoseThatAreNotSent(counted: Int64, share: Int?, polls: Int) {
    let counts = Self.polls([Self.batch(counted)], share: share)
    #expect(
      counts == [
        PollCount(
          channel: 1, version: 3, polls: polls,
          sample: PollSample(batches: 1, squares: Double(polls) * Double(polls)))
      ])
  }

  @Test func nothingIsLostToRounding() {
    let counts = Self.polls(Array(repeating: Self.batch(1), count: 300), share: 3_000)
    #expect(counts.map(\.polls) == [1_000] || counts.map(\.polls) == [999])
    #expect(counts.first?.sample.batches == 300)
  }

  @Test func batchesAreTakenOnceByVersion() {
    var sampled = SampledPolls()
    for version in [3, 2, 3] as [Int64] {
      sampled.add(Self.batch(2, version: version), of: 1, .none, now: 0)
    }
    sampled.add(Self.batch(5), of: 2, .none, now: 0)
    let taken = sampled.take().sorted { ($0.channel, $0.version) < ($1.channel, $1.version) }
    #expect(taken.map(\.polls) == [2, 4, 5] && taken.map(\.sample.batches) == [1, 2, 1])
    #expect(sampled.take().isEmpty)
  }

  /// Without a share, a channel's devices send no batches; a late one stands for nothing. Nor does one between two polls.
  @Test func someBatchesStandForNothing() {
    #expect(Self.polls([Self.batch(4)], share: 0).isEmpty)
    #expect(Self.polls([Self.batch(0, local: 7)], share: 100).isEmpty)
    // A batch without counts, or with nothing but unknown ones, is nobody's.
    #expect(Self.polls([Self.batch(nil)], share: 100).isEmpty)
  }

  /// A device of 0.2.0 makes batches only where something besides polls happened, so each of them stands for the polls in between, too.
  @Test func batchWithoutPollsStandsForTheMeanOfTheOthers() {
    var mean = PollsPerBatch()
    #expect(mean.mean == 4 && mean.polls(of: Self.batch(nil, local: 1)) == 4)
    for _ in 0..<1_000 {
      #expect(mean.polls(of: Self.batch(6, local: 1)) == 6)
      #expect(mean.polls(of: Self.batch(4)) == 4)
      #expect(mean.polls(of: Self.batch(0, local: 1)) == nil)
    }
    #expect(abs(mean.mean - (64 + 10_000) / (16 + 2_000)) < 1e-9)
    // It follows what devices do now.
    for _ in 0..<30_000 { _ = mean.polls(of: Self.batch(2, local: 1)) }
    #expect(abs(mean.mean - 2) < 0.1)
    // Nobody makes it more than a batch may have, nor less than a poll.
    for _ in 0..<50_000 { _ = mean.polls(of: Self.batch(1_000_000)) }
    #expect(mean.mean == Double(SampledPolls.maxPerBatch))
    for _ in 0..<100_000 { _ = mean.polls(of: Self.batch(0, local: 1)) }
    #expect(mean.mean == 1)
  }

  @Test func batchesWithoutPollsAreScaled() {
    let counts = Self.polls(
      [Self.batch(nil, version: 2, local: 1), Self.batch(nil, version: 2, local: 3)], share: 100)
    #expect(counts.map(\.polls) == [800] && counts.map(\.version) == [2])
  }

  /// Devices learn of another share with their next poll. Until all can know, no version gets too many polls.
  @Test func changedShareCountsOnceDevicesKnow() {
    var share = ReportShare(1_000)
    func update(_ asked: Int, _ seconds: UInt64, interval: Int? = nil) -> Int {
      share.update(asked, interval: interval, now: seconds * Self.second)
    }
    #expect(update(1_000, 0) == 1_000)
    #expect(update(100, 10) == 1_000)
    #expect(update(100, 10 + 329) == 1_000)
    #expect(update(100, 10 + 330) == 100)
    #expect(update(5_000, 1_000, interval: 3_600) == 5_000)
    // Twice within the time: the largest counts.
    #expect(update(200, 1_001, interval: 3_600) == 5_000)
    #expect(update(100, 1_002, interval: 3_600) == 5_000)
    #expect(update(100, 1_002 + 3_900, interval: 3_600) == 100)
    #expect(update(0, 10_000) == 100)
    #expect(update(0, 10_330) == 0)
  }

  @Test func versionsTakeBoundedMemory() {
    var sampled = SampledPolls()
    for version in 1...10_000 as ClosedRange<Int64> {
      sampled.add(Self.batch(1, version: version), of: 1, .none, now: 0)
    }
    let taken = sampled.take()
    #expect(taken.count == SampledPolls.limit + 1)
    #expect(taken.first { $0.version == PollCount.other }?.polls == 10_000 - SampledPolls.limit)
  }
}
