import Testing

@testable import Manifests

@Suite struct NetworkCapTests {
  private func row(
    _ hour: Int64, _ arm: RolloutArm, _ network: UInt64, _ opened: Int64, _ failed: Int64
  ) throws -> EvidenceRow {
    try #require(EvidenceRow(hour: hour, arm: arm, network: network, opened: opened, failed: failed))
  }

  @Test(arguments: [0, -1, 10_001]) func sharesHaveARange(share: Int) {
    #expect(NetworkCap(share: share) == nil)
  }

  @Test func theLimitIsAShareOfWhatCounts() {
    let cap = NetworkCap.standard
    for others in [100, 1_000, 100_000] {
      for large in 0...21 {
        let counts = Array(repeating: Int64(1_000_000_000), count: large) + Array(repeating: 1, count: others)
        let limit = cap.limit(counts)
        let sum = counts.reduce(0.0) { $0 + min(Double($1), limit) }
        #expect(limit == 1 || abs(limit - sum / 20) <= sum * 1e-12, "\(large) beside \(others)")
        // From 20 on, none has more than 5 % of them.
        #expect((limit >= 1e9) == (large >= 20))
      }
    }
  }

  @Test func aCountThatGrowsNeverRaisesItsLimit() {
    let others = Array(repeating: Int64(2), count: 500)
    let limits = [60, 1_000, 1 << 40].map { NetworkCap.standard.limit(others + [$0]) }
    #expect(limits.allSatisfy { $0 == limits[0] })
    #expect(limits[0] == 1_000 / 19.0)
    #expect(NetworkCap.standard.limit([]) == 1)
    #expect(NetworkCap.standard.limit([1, 0, 0]) == 1)
  }

  @Test func eachNetworkCountsOnce() throws {
    let rows = try (1...10).map { try row(3, .candidate, $0, 100, 100) }
    let hour = try #require(NetworkCap.standard.hours(rows).first)
    #expect(abs(hour.candidate.opened - 10) < 1e-9)
    #expect(abs(hour.candidate.failed - 10) < 1e-9)
    #expect(hour.control == .none)
    let all = try #require(NetworkCap(share: 10_000)?.hours(rows).first)
    #expect(all.candidate == CountedSums(opened: 1_000, failed: 1_000))
  }

  @Test func openingsAreCappedByTheHourAndFailuresByTheDay() throws {
    let hours = NetworkCap.standard.hours([
      try row(24, .candidate, 1, 8, 2), try row(47, .candidate, 1, 8, 2), try row(48, .candidate, 1, 8, 2),
      try row(24, .control, 1, 8, 2),
    ])
    #expect(hours.map(\.hour) == [24, 47, 48])
    #expect(hours.map(\.candidate.opened) == [1, 1, 1])
    #expect(hours.map(\.candidate.failed) == [0.5, 0.5, 1])
    #expect(hours[0].control == CountedSums(opened: 1, failed: 1))
  }

  @Test func openingsThatAreNotCountedAreTold() throws {
    let cap = NetworkCap.standard
    let few = try (1...3).map { try row(24, .candidate, $0, 3_000, 0) } + [try row(25, .control, 1, 1_000, 0)]
    let openings = cap.counted(few).openings
    #expect(openings.reported == 10_000 && abs(openings.counted - 4) < 1e-9 && openings.networks == 3)
    #expect(openings.areMostlyLeftOut)
    #expect(try #require(NetworkCap(share: 10_000)).counted(few).openings.networks == 0)
    // Networks of another day may be the same ones.
    let next = few + [try row(48, .candidate, 1, 10, 0), try row(48, .candidate, 2, 10, 0)]
    #expect(cap.counted(next).openings.networks == 3)
    let many = try (1...100).map { try row(24, .candidate, $0, 10, 0) }
    #expect(cap.counted(many).openings.networks == 0 && !cap.counted(many).openings.areMostlyLeftOut)
    // So few say nothing about a fleet.
    #expect(!cap.counted([try row(24, .candidate, 1, 49, 0)]).openings.areMostlyLeftOut)
    #expect(cap.counted([try row(24, .candidate, 1, 50, 0)]).openings.areMostlyLeftOut)
    #expect(cap.counted([]).openings == CountedOpenings())
    let limit = try row(24, .candidate, 1, EvidenceRow.limit, 0)
    #expect(cap.counted(Array(repeating: limit, count: 2_000)).openings.reported == .max)
  }

  /// Whoever has one network, and sends what he likes, doesn't stop a good release, and doesn't hide a bad one.
  @Test func oneNetworkDecidesNothing() throws {
    func log(_ failures: [RolloutArm: Int], _ fakes: [EvidenceRow]) throws -> Double {
      var rows = fakes
      for arm in RolloutArm.allCases {
        for network in UInt64(100)..<2_100 {
          rows.append(
            try row(Int64(network % 24), arm, network, 1, Int(network) < 100 + (failures[arm] ?? 0) ? 1 : 0))
        }
      }
      return EValue(NetworkCap.standard.hours(rows)).log
    }
    let stops = [try row(1, .candidate, 1, 0, 1 << 50), try row(1, .control, 1, 1 << 50, 0)]
    #expect(try log([.candidate: 4, .control: 4], stops) < RealMathLog.ten)
    let hides = [try row(1, .control, 1, 0, 1 << 50), try row(1, .candidate, 1, 1 << 50, 0)]
    #expect(try log([.candidate: 100, .control: 4], hides) > 2 * RealMathLog.hundred)
  }

  private enum RealMathLog {
    static let ten = 2.302_585
    static let hundred = 4.605_170
  }
}
