import System
import Testing
import TestSupport

@testable import Manifests
@testable import Values

/// Runs docs/vectors/rollout.json.
@Suite struct RolloutVectorTests {
  @Test func buckets() throws {
    for sample in try Self.cases("buckets") {
      let id = try #require(Self.id(sample))
      #expect(
        id.bucket(seed: sample["seed"]?.string ?? "") == sample["bucket"]?.integer.map(Int.init), "\(sample)")
    }
  }

  @Test func versions() throws {
    for sample in try Self.cases("versions") {
      let a = sample["a"]?.string.flatMap { AppVersion($0) }
      let b = sample["b"]?.string.flatMap { AppVersion($0) }
      guard let order = sample["order"]?.integer else {
        #expect(a == nil, "\(sample)")
        continue
      }
      let (left, right) = (try #require(a, "\(sample)"), try #require(b, "\(sample)"))
      #expect((left < right ? -1 : left > right ? 1 : 0) == order, "\(sample)")
      #expect((left == right) == (order == 0), "\(sample)")
    }
  }

  @Test func ranges() throws {
    for sample in try Self.cases("ranges") {
      let range = try? AppVersionRange(sample["range"]?.string ?? "")
      let version = sample["app"]?.string.flatMap { AppVersion($0) }
      #expect(range.map { range in version.map(range.contains) ?? false } == sample["in"]?.bool, "\(sample)")
    }
  }

  @Test func rules() throws {
    for sample in try Self.cases("rules") {
      let rule = try? RolloutRule(reading: sample["rule"] ?? .null)
      #expect((rule == nil) == (sample["error"] != nil), "\(sample)")
    }
  }

  @Test func decisions() throws {
    for sample in try Self.cases("decisions") {
      #expect(Self.decide(sample) == sample["in"]?.bool, "\(sample)")
    }
  }

  /// Runs the decisions that `docs/vectors/rollout.py --random` has written to a file (`make test-rollouts`).
  @Test(.enabled(if: Environment.variables["XCACHE_ROLLOUTS"] != nil)) func randomDecisions() throws {
    let path = try #require(Environment.variables["XCACHE_ROLLOUTS"])
    let bytes = try #require(try DurableFile.read(path))
    var count = 0
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      let sample = try JSONValue.parse(Array(line))
      let isRight = Self.decide(sample) == sample["in"]?.bool
      if !isRight { Issue.record("\(sample)") }
      count += 1
    }
    print("rollouts: \(count) decisions agree (Swift)")
    #expect(count > 0)
  }

  private static func cases(_ name: String) throws -> [JSONValue] {
    let cases = try Vectors.json("rollout.json")[name]?.array ?? []
    try #require(!cases.isEmpty)
    return cases
  }

  private static func id(_ sample: JSONValue) -> InstallID? {
    InstallID(bytes: Vectors.hex(sample["install"]?.string ?? ""))
  }

  /// Nil if the rule is invalid.
  private static func decide(_ sample: JSONValue) -> Bool? {
    guard let rule = try? RolloutRule(reading: sample["rule"] ?? .null), let id = id(sample) else {
      return nil
    }
    return rule.includes(
      Installation(
        id: id, appVersion: sample["app"]?.string.flatMap { AppVersion($0) },
        groups: Set(sample["groups"]?.array?.compactMap(\.string) ?? []), takenSeed: sample["held"]?.string,
        leftSeed: sample["left"]?.string))
  }
}

/// Shares over many installations, whose ids are a fixed pseudo-random sequence. `make test-rollouts` uses a million,
/// which takes a debug build minutes; otherwise they are enough to notice buckets that aren't uniform.
@Suite struct RolloutShareTests {
  private static let isWhole = Environment.variables["XCACHE_ROLLOUTS"] != nil
  private static let count = isWhole ? 1_000_000 : 20_000
  private static func id(from random: inout SplitMix) -> InstallID? {
    let words = (random.next(), random.next())
    return InstallID(bytes: withUnsafeBytes(of: words) { Array($0) })
  }

  private static let seeds = ["9f86d081884c7d65", "3fc9b689459d738f"]

  @Test func bucketsAreUniformAndIndependentBetweenSeeds() throws {
    var random = SplitMix(seed: 2026)
    let shares = [100, 500, 2500, 5000]
    var counts = [Int](repeating: 0, count: RolloutRule.all)
    var joint = [Int](repeating: 0, count: 100)
    for _ in 0..<Self.count {
      let id = try #require(Self.id(from: &random))
      let buckets = Self.seeds.map { id.bucket(seed: $0) }
      counts[buckets[0]] += 1
      joint[buckets[0] / 1000 * 10 + buckets[1] / 1000] += 1
    }
    for share in shares {
      let part = Double(counts[..<share].reduce(0, +)) / Double(Self.count) * 100
      print("share \(Double(share) / 100) %: \(part) %")
      #expect(abs(part - Double(share) / 100) < (Self.isWhole ? 0.1 : 1))
    }
    // The deciles of two rollouts: 99 degrees of freedom, with fixed margins 81; 99.9 % of independent ones lie below
    // 148.2.
    let expected = Double(Self.count) / 100
    let chi = joint.reduce(0.0) { $0 + (Double($1) - expected) * (Double($1) - expected) / expected }
    print("chi-squared over 100 cells: \(chi)")
    #expect(chi < 148.2)
  }

  @Test func installationsWithTheCandidateStayWhenTheShareFalls() throws {
    var random = SplitMix(seed: 7)
    let seed = Self.seeds[0]
    let version = ManifestVersion(554)
    let rules = try [5000, 2500, 500, 0].map {
      try #require(RolloutRule(version: version, seed: seed, share: $0))
    }
    var joined = 0
    for _ in 0..<2_000 {
      var installation = Installation(id: try #require(Self.id(from: &random)))
      guard rules[0].includes(installation) else { continue }
      joined += 1
      installation.takenSeed = seed
      for rule in rules where !rule.includes(installation) { Issue.record("left at \(rule.share)") }
    }
    #expect(joined > 900)
  }
}
