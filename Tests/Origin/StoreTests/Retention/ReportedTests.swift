import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// Versions are kept because of polls if devices use them, not because someone asked for them once.
@Suite struct ReportedTests {
  private let scratch = Scratch()
  private let now = Locked<Int64>(1_760_000_000_000)

  private func filled(_ versions: Int64) throws -> (Store, ChannelInfo) {
    var options = Store.Options()
    options.clock = { [now] in now.withLock { $0 } }
    let store = try scratch.open(options)
    for version in 0..<versions { try store.publish(base: version, set: ["a.js": Sample("\(version)")]) }
    return (store, try store.shop())
  }

  private func dropped(_ store: Store) throws -> [Int64] {
    var policy = RetentionPolicy()
    policy.versions = 1
    return try store.collect(policy, dryRun: true).channels[0].dropped.map(\.number)
  }

  @Test func onePollOfEachVersionKeepsNothing() throws {
    let (store, shop) = try filled(40)
    try store.count((1...40).map { PollCount(channel: shop.id, version: $0, polls: 1) })
    #expect(try dropped(store) == Array(1...39))
    // Nor do a few polls, over two hours, in a channel without other polls.
    now.withLock { $0 += 3_600_000 }
    try store.count((1...40).map { PollCount(channel: shop.id, version: $0, polls: 8) })
    #expect(try dropped(store) == Array(1...39))
    #expect(try store.collect().channels[0].dropped.isEmpty, "the newest 50 are kept for another reason")
  }

  /// Ten polls of each version, which anyone may send within a minute, keep at most a hundred.
  @Test func tenPollsOfEachVersionKeepAtMostAHundred() throws {
    let (store, shop) = try filled(130)
    // Each has more than 1 % of that day's polls, as only a part of them is sent each day.
    for first in stride(from: Int64(1), through: 130, by: 65) {
      try store.count((first..<first + 65).map { PollCount(channel: shop.id, version: $0, polls: 10) })
      now.withLock { $0 += 86_400_000 }
    }
    #expect(try dropped(store).count == 130 - 101)
  }

  /// Polls of version 1 and of the newest on one day, the number of hours with polls, and whether version 1 is kept.
  @Test(arguments: [
    (10, 0, 1, true), (9, 0, 1, false), (10, 990, 1, true), (10, 1_090, 1, false), (10, 1_090, 2, true),
    (10, 9_990, 1, false), (10, 9_990, 2, true), (10, 10_500, 2, true), (10, 12_000, 2, false),
    (1_000, 99_000, 1, true), (1_000, 999_000, 1, false), (1_000, 999_000, 2, true),
    (1_000, 1_200_000, 2, false),
  ])
  func shareOfADaysPollsKeepsAVersion(polls: Int, others: Int, hours: Int, isKept: Bool) throws {
    let (store, shop) = try filled(3)
    let last = now.withLock { $0 } / 3_600_000 * 3_600_000
    if hours == 2 {
      now.withLock { $0 -= 3_600_000 }
      try store.count([PollCount(channel: shop.id, version: 1, polls: 1)])
      now.withLock { $0 += 3_600_000 }
    }
    try store.count([
      PollCount(channel: shop.id, version: 1, polls: polls - (hours - 1)),
      PollCount(channel: shop.id, version: 3, polls: others),
    ])
    // Polls of other days don't reduce its share.
    now.withLock { $0 += 86_400_000 }
    try store.count([PollCount(channel: shop.id, version: 3, polls: 5_000_000)])
    #expect(try dropped(store) == (isKept ? [2] : [1, 2]))
    let reasons = try store.keptVersions(of: shop, Self.one).first { $0.version.number == 1 }?.reasons
    #expect(
      reasons
        == (isKept
          ? [.reported(polls: polls, hours: hours, last: last)] : nil))
    // But not for ever.
    now.withLock { $0 += 90 * 86_400_000 }
    #expect(try dropped(store) == [1, 2])
  }

  private static var one: RetentionPolicy {
    var policy = RetentionPolicy()
    policy.versions = 1
    return policy
  }

  /// A rarely used version: one or two devices that return.
  @Test func pollsInSeveralHoursKeepAVersion() throws {
    let (store, shop) = try filled(3)
    for (hour, isKept) in [(0, false), (30, false), (700, true)] as [(Int64, Bool)] {
      now.withLock { $0 = 1_760_000_000_000 + hour * 3_600_000 }
      try store.count([
        PollCount(channel: shop.id, version: 1, polls: 1),
        PollCount(channel: shop.id, version: 3, polls: 1_000_000),
      ])
      #expect(try dropped(store) == (isKept ? [2] : [1, 2]), "hour \(hour)")
    }
  }

  /// A client that polls every version every hour keeps a hundred of them, but not instead of those that others use more.
  @Test func clientPollingEverythingKeepsAtMostAHundred() throws {
    let (store, shop) = try filled(130)
    for hour in 0..<5 {
      now.withLock { $0 = 1_760_000_000_000 + Int64(hour) * 3_600_000 }
      var polls = (1...130).map { PollCount(channel: shop.id, version: $0, polls: $0 == 7 ? 2 : 1) }
      if hour > 2 { polls = [PollCount(channel: shop.id, version: 9, polls: 1)] }
      polls.append(PollCount(channel: shop.id, version: 20, polls: 5_000))
      try store.count(polls)
    }
    let dropped = Set(try dropped(store))
    // The newest and a hundred more, the most used first.
    #expect(dropped.count == 130 - 101)
    #expect(dropped.isDisjoint(with: [7, 9, 20, 130]))
    #expect(dropped.contains(1))
  }

  /// Where polls are worked out from batches, one is enough for 30 days, however few polls it stands for.
  @Test func batchKeepsItsVersionForThirtyDays() throws {
    let (store, shop) = try filled(3)
    try store.count([
      PollCount(
        channel: shop.id, version: 1, polls: 4, sample: PollSample(batches: 1, squares: 16)),
      PollCount(channel: shop.id, version: 2, polls: 4),
      PollCount(channel: shop.id, version: 3, polls: 1_000_000),
    ])
    for (days, isKept) in [(0, true), (29, true), (1, false)] as [(Int64, Bool)] {
      now.withLock { $0 += days * 86_400_000 }
      while try store.rollUpCounts() {}
      #expect(try dropped(store) == (isKept ? [2] : [1, 2]), "\(days)")
    }
  }

  /// Whoever looks back for fewer days drops what was polled, but what has a batch stays for the 30 days.
  @Test(arguments: [0, 7, 29])
  func batchKeepsItsVersionThoughThePolicyHasFewerDays(days: Int) throws {
    let (store, shop) = try filled(3)
    var policy = RetentionPolicy()
    (policy.versions, policy.days) = (1, days)
    func dropped() throws -> [Int64] {
      while try store.rollUpCounts() {}
      return try store.collect(policy, dryRun: true).channels[0].dropped.map(\.number)
    }
    let last = now.withLock { $0 } / 3_600_000 * 3_600_000
    try store.count([
      PollCount(
        channel: shop.id, version: 1, polls: 4, sample: PollSample(batches: 1, squares: 16)),
      PollCount(channel: shop.id, version: 2, polls: 1_000),
    ])
    #expect(try dropped() == (days == 0 ? [2] : []))
    now.withLock { $0 += Int64(days) * 86_400_000 + 3_600_000 }
    #expect(try dropped() == [2])
    let reasons = try store.keptVersions(of: shop, policy).first { $0.version.number == 1 }?.reasons
    #expect(reasons == [.reported(polls: 4, hours: 1, last: last)])
    now.withLock { $0 = last + 30 * 86_400_000 - 1 }
    #expect(try dropped() == [2])
    now.withLock { $0 = last + 30 * 86_400_000 }
    #expect(try dropped() == [1, 2])
  }

  /// Whoever reports a batch of each version keeps a hundred of them, those with the most batches first.
  @Test func batchesOfEverythingKeepAtMostAHundred() throws {
    let (store, shop) = try filled(130)
    func count(_ version: Int64, polls: Int, batches: Int) -> PollCount {
      PollCount(
        channel: shop.id, version: version, polls: polls, sample: PollSample(batches: batches, squares: 9))
    }
    try store.count([count(7, polls: 3, batches: 2)])
    now.withLock { $0 += 3_600_000 }
    // Of so many versions only the newest has a share.
    try store.count([count(130, polls: 10_000_000, batches: 1)])
    try store.count((1...129).filter { $0 != 7 }.map { count($0, polls: 400, batches: 1) })
    let dropped = Set(try dropped(store))
    #expect(dropped.count == 130 - 101)
    // One of an hour's 129 versions is counted as another one: the highest.
    #expect(dropped.isDisjoint(with: [7, 128, 130]) && dropped.isSuperset(of: [1, 129]))
  }

  /// A version that most devices have had for an hour is kept, though as many old versions as are allowed have been polled for longer.
  @Test func versionOfMostDevicesIsKeptBesideOldOnes() throws {
    let (store, shop) = try filled(102)
    for hour in 0..<4 {
      now.withLock { $0 = 1_760_000_000_000 + Int64(hour) * 3_600_000 }
      var polls = (1...100).map { PollCount(channel: shop.id, version: $0, polls: 1) }
      if hour == 3 { polls.append(PollCount(channel: shop.id, version: 101, polls: 600)) }
      try store.count(polls)
    }
    // Of the others, the oldest isn't kept.
    #expect(try dropped(store) == [1])
  }
}
