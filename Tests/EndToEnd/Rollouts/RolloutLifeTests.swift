import Glibc
import System
import Testing

/// Random rollouts against the real program, with devices that use the runtime's own code, compared with an independent model.
///
/// Six seeds by default; XCACHE_ROLLOUT_SEEDS=500 runs 500 (`make test-rollout-model`).
@Suite("Random rollouts") struct RolloutLifeTests {
  static let seeds: ClosedRange<UInt64> = {
    1...max(1, getenv("XCACHE_ROLLOUT_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 6)
  }()

  /// The sum of what all seeds of this run did.
  private static let total = Locked<[String: Int]>([:])

  @Test("Each device has the version that the rule says, and no act is done partially", arguments: seeds)
  func everyDevice(seed: UInt64) throws {
    try Site.with { site in
      var life = try RolloutLife(seed: seed, on: site)
      // Killing a server costs a second, so only every third seed does.
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

  @Test("Injected faults are detected", arguments: RolloutLife.Fault.allCases)
  func faultsAreDetected(_ fault: RolloutLife.Fault) throws {
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
