import System
import Testing

@testable import Manifests
@testable import Values

@Suite struct RolloutArmTests {
  private static let id = InstallID(bytes: Array(4..<20)) ?? .random()
  /// 7,050: in the upper half.
  private static let bucket = id.bucket(seed: "s")

  private func rule(share: Int, groups: [String] = [], app: String? = nil) throws -> RolloutRule {
    try #require(
      RolloutRule(
        version: ManifestVersion(554), seed: "s", share: share, groups: groups,
        app: app.map { try AppVersionRange($0) }))
  }

  @Test func installationsAreInTheArmOfTheirBucket() throws {
    #expect(try rule(share: Self.bucket + 1).arm(of: Installation(id: Self.id)) == .candidate)
    let candidate = Installation(id: Self.id, takenSeed: "s")
    #expect(try rule(share: Self.bucket + 1).arm(of: candidate) == .candidate)
    // Bucket b is in control from a share of 10,000 − b on, until it is let in.
    let first = RolloutRule.all - Self.bucket
    try #require(first < Self.bucket)
    #expect(try rule(share: first).arm(of: Installation(id: Self.id)) == .control)
    #expect(try rule(share: first - 1).arm(of: Installation(id: Self.id)) == nil)
    #expect(try rule(share: Self.bucket).arm(of: Installation(id: Self.id)) == .control)
  }

  @Test func whoHoldsTheCandidateIsNeverInControl() throws {
    let fallen = try rule(share: RolloutRule.all - Self.bucket)
    #expect(fallen.arm(of: Installation(id: Self.id, takenSeed: "s")) == nil)
    #expect(fallen.arm(of: Installation(id: Self.id, takenSeed: "t")) == .control)
  }

  @Test(arguments: [Self.bucket, Self.bucket + 1]) func onlyChanceTellsTheArmsApart(share: Int) throws {
    let arm: RolloutArm = share == Self.bucket ? .control : .candidate
    let ranged = try rule(share: share, app: ">=4.2")
    #expect(ranged.arm(of: Installation(id: Self.id, appVersion: AppVersion("4.2"))) == arm)
    #expect(ranged.arm(of: Installation(id: Self.id, appVersion: AppVersion("4.1"))) == nil)
    #expect(ranged.arm(of: Installation(id: Self.id)) == nil)
    let grouped = try rule(share: share, groups: ["beta", "qa"])
    #expect(grouped.arm(of: Installation(id: Self.id, groups: ["qa"])) == nil)
    #expect(grouped.arm(of: Installation(id: Self.id, groups: ["other"])) == arm)
    #expect(try rule(share: share).arm(of: Installation(id: Self.id, leftSeed: "s")) == nil)
    #expect(try rule(share: share).arm(of: Installation(id: Self.id, leftSeed: "t")) == arm)
  }

  @Test(arguments: [
    (0, 0, 0), (1, 1, 1), (500, 500, 500), (5_000, 5_000, 5_000), (7_500, 7_500, 2_500), (10_000, 10_000, 0),
  ])
  func armsHaveTheSameSizeUpToHalfOfTheBuckets(share: Int, candidates: Int, controls: Int) {
    let arms = (0..<RolloutRule.all).map { RolloutArm(bucket: $0, share: share) }
    #expect(arms.count { $0 == .candidate } == candidates)
    #expect(arms.count { $0 == .control } == controls)
    #expect(arms.prefix(candidates).allSatisfy { $0 == .candidate })
    #expect(arms.suffix(controls).allSatisfy { $0 == .control })
  }
}
