import Manifests
import Testing
import Values

@testable import XCacheDevice

/// A `CountedRollouts` in a class, so that `#expect` can call its mutating methods.
private final class Counted {
  var value = CountedRollouts()
  static let hour: Int64 = 3_600_000
  static let start: Int64 = 1_800_000_000_000

  func open(_ seed: String = "s", _ arm: RolloutArm = .control, after hours: Int64 = 0) {
    value.open(seed, arm, at: Self.start + hours * Self.hour)
  }

  func fail(_ seed: String = "s", _ arm: RolloutArm = .control, after milliseconds: Int64) {
    value.fail(seed, arm, at: Self.start + milliseconds)
  }

  /// What is told, as its canonical JSON.
  func told(_ seed: String = "s", version: Int64 = 2, after milliseconds: Int64 = 0) throws -> String? {
    let rule = try #require(RolloutRule(version: ManifestVersion(version), seed: seed, share: 50))
    return value.take(rule, at: Self.start + milliseconds).map { String(decoding: $0.body, as: UTF8.self) }
  }
}

@Suite struct CountedRolloutsTests {
  private let counted = Counted()

  @Test func eachIsToldOnce() throws {
    #expect(try counted.told() == nil)
    counted.open()
    #expect(
      try counted.told() == #"{"evidence":{"arm":"control","failed":0,"opened":1,"version":"2"}}"#)
    #expect(try counted.told() == nil)
    counted.open("s", .candidate, after: 1)
    #expect(try counted.told() == nil)
    counted.fail(after: 0)
    #expect(
      try counted.told(version: 3)
        == #"{"evidence":{"age":0,"arm":"control","failed":1,"opened":0,"version":"3"}}"#)
    counted.fail(after: 1)
    #expect(try counted.told() == nil)
  }

  @Test func bothAtOnce() throws {
    counted.open("s", .candidate)
    counted.fail("s", .candidate, after: 0)
    #expect(
      try counted.told(after: 2 * Counted.hour - 1)
        == #"{"evidence":{"age":1,"arm":"candidate","failed":1,"opened":1,"version":"2"}}"#)
    #expect(try counted.told() == nil)
  }

  private static let day = 24 * Counted.hour

  @Test(arguments: [-1, 0, day - 1, day] as [Int64])
  func failuresCountForADay(_ milliseconds: Int64) throws {
    let counts = (0..<Self.day).contains(milliseconds)
    counted.open()
    _ = try counted.told()
    counted.fail(after: milliseconds)
    #expect(try (counted.told(after: max(0, milliseconds)) != nil) == counts)
  }

  @Test func theOtherArmsFailuresDont() throws {
    counted.open()
    _ = try counted.told()
    counted.fail("s", .candidate, after: 0)
    counted.fail("t", .control, after: 0)
    #expect(try counted.told() == nil)
  }

  @Test func whatIsTooOldIsKept() throws {
    counted.open()
    #expect(try counted.told(after: 25 * Counted.hour) == nil)
    // By a clock that was set back it is as new as can be.
    #expect(try counted.told(after: -Counted.hour)?.contains("age") == false)
    counted.open("t")
    #expect(try counted.told("t", after: 25 * Counted.hour - 1)?.contains(#""age":24"#) == true)
  }

  @Test func someRolloutsAreRemembered() throws {
    for seed in ["a", "b", "c", "d", "e"] { counted.open(seed) }
    #expect(counted.value.counts.map(\.seed) == ["b", "c", "d", "e"])
    #expect(try counted.told("a") == nil)
    #expect(try counted.told("b") != nil)
  }

  @Test func itIsSavedAndRead() throws {
    counted.open("a")
    _ = try counted.told("a")
    counted.open("b", .candidate)
    counted.fail("b", .candidate, after: 5)
    #expect(CountedRollouts(json: counted.value.json) == counted.value)
    #expect(CountedRollouts(json: ["a"]) == CountedRollouts())
    let wrong: [JSONValue] = [
      .null, ["seed": "s"],
      ["arm": "both", "failed": false, "opened": 1, "seed": "s", "told": [true, true]],
      ["arm": "control", "failed": false, "opened": -1, "seed": "s", "told": [true, true]],
      ["arm": "control", "failed": false, "opened": 1, "seed": "", "told": [true, true]],
      ["arm": "control", "failed": false, "opened": 1, "seed": "s", "told": [true]],
    ]
    for value in wrong { #expect(CountedRollouts(json: .array([value])) == CountedRollouts()) }
  }
}
