import Glibc
import System
import Testing

/// Random rollouts against the real program, with devices that decide by the runtime's own code, compared with an independent model.
///
/// Six seeds by default; XCACHE_ROLLOUT_SEEDS=500 for so many (`make test-rollout-model`).
@Suite("Lives of rollouts") struct RolloutLifeTests {
  static let seeds: ClosedRange<UInt64> = {
    1...max(1, getenv("XCACHE_ROLLOUT_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 6)
  }()

  /// What all seeds of this run did.
  private static let total = Locked<[String: Int]>([:])

  @Test("Each device has the version that the rule says, and no act is done by half", arguments: seeds)
  func everyDevice(seed: UInt64) throws {
    try Site.with { site in
      var life = try RolloutLife(seed: seed, on: site)
      // A killed server costs a second; of three seeds one has some.
      try life.run(crashes: seed % 3 == 0)
      #expect(life.problems == [])
      let total = Self.total.withLock { total in
        total.merge(life.counts) { $0 + $1 }
        total["seeds", default: 0] += 1
        return total
      }
      if total["seeds"] == Int(Self.seeds.upperBound), Self.seeds.upperBound > 6 {
        print(total.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
      }
      #expect(try site.run("doctor", "--data", site.data).exitCode == 0)
    }
  }

  @Test("What is broken on purpose is noticed", arguments: RolloutLife.Fault.allCases)
  func noticed(_ fault: RolloutLife.Fault) throws {
    var found = false
    for seed in 1001...1012 as ClosedRange<UInt64> where !found {
      try Site.with { site in
        var life = try RolloutLife(seed: seed, on: site, fault: fault)
        try life.run(crashes: false)
        found = !life.problems.isEmpty
      }
    }
    #expect(found, "\(fault) was noticed in none of twelve lives")
  }
}
