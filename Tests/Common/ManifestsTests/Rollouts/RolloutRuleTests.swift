import System
import Testing

@testable import Manifests
@testable import Values

@Suite struct RolloutRuleTests {
  private static let id = InstallID(bytes: Array(0..<16)) ?? .random()

  private func rule(_ json: String) throws -> RolloutRule {
    try RolloutRule(reading: JSONValue.parse(Array(json.utf8)))
  }

  private func sample(share: Int = 0, groups: [String] = [], app: String? = nil) throws -> RolloutRule {
    try #require(
      RolloutRule(
        version: ManifestVersion(554), seed: "s", share: share, groups: groups,
        app: app.map { try AppVersionRange($0) }))
  }

  @Test func bucketsAreDerivedFromADigest() {
    // python3 -c "import hashlib; print(int.from_bytes(hashlib.sha256(bytes(range(16)) +
    // b'9f86d081884c7d65').digest()[:8], 'big') % 10000)"
    #expect(Self.id.bucket(seed: "9f86d081884c7d65") == 5418)
  }

  @Test func rulesRoundTrip() throws {
    let text = #"{"app":">=4.2 <5","groups":["a","qa"],"seed":"9f86-_Z","share":500,"version":"554"}"#
    let parsed = try rule(text)
    #expect(String(decoding: parsed.json.canonical, as: UTF8.self) == text)
    #expect(try rule(#"{"seed":"s","share":5e2,"version":"1","later":[1]}"#).share == 500)
  }

  @Test(arguments: [
    "[]", "{}", #"{"share":1,"version":"1"}"#, #"{"seed":"","share":1,"version":"1"}"#,
    #"{"seed":"a b","share":1,"version":"1"}"#, #"{"seed":"s","share":10001,"version":"1"}"#,
    #"{"seed":"s","share":-1,"version":"1"}"#, #"{"seed":"s","share":0.5,"version":"1"}"#,
    #"{"seed":"s","share":1e300,"version":"1"}"#, #"{"seed":"s","share":"1","version":"1"}"#,
    #"{"seed":"s","share":1,"version":"0"}"#, #"{"seed":"s","share":1,"version":1}"#,
    #"{"groups":[],"seed":"s","share":1,"version":"1"}"#,
    #"{"groups":["b","a"],"seed":"s","share":1,"version":"1"}"#,
    #"{"groups":["a","a"],"seed":"s","share":1,"version":"1"}"#,
    #"{"groups":["A"],"seed":"s","share":1,"version":"1"}"#,
    #"{"groups":[1],"seed":"s","share":1,"version":"1"}"#,
    #"{"app":"5","seed":"s","share":1,"version":"1"}"#, #"{"app":5,"seed":"s","share":1,"version":"1"}"#,
  ])
  func invalidRulesAreRefused(text: String) {
    #expect(throws: JSONError.member("rollout")) { try rule(text) }
  }

  @Test func sharesIncludeTheLowestBuckets() throws {
    let bucket = Self.id.bucket(seed: "s")
    #expect(try !sample(share: bucket).includes(Installation(id: Self.id)))
    #expect(try sample(share: bucket + 1).includes(Installation(id: Self.id)))
  }

  @Test func membersOfAGroupAreIncluded() throws {
    let rule = try sample(groups: ["beta", "qa"])
    #expect(rule.includes(Installation(id: Self.id, groups: ["x", "qa"])))
    #expect(!rule.includes(Installation(id: Self.id, groups: ["x"])))
  }

  @Test func installationsThatTookTheCandidateStayIncluded() throws {
    #expect(try sample().includes(Installation(id: Self.id, takenSeed: "s")))
    #expect(try !sample().includes(Installation(id: Self.id, takenSeed: "t")))
    #expect(try !sample(share: 10_000).includes(Installation(id: Self.id, takenSeed: "s", leftSeed: "s")))
    #expect(try sample(share: 10_000).includes(Installation(id: Self.id, leftSeed: "t")))
  }

  @Test func onlyAppVersionsInTheRangeAreIncluded() throws {
    let rule = try sample(share: 10_000, app: ">=4.2")
    #expect(rule.includes(Installation(id: Self.id, appVersion: AppVersion("4.2"))))
    #expect(!rule.includes(Installation(id: Self.id, appVersion: AppVersion("4.1"), takenSeed: "s")))
    #expect(!rule.includes(Installation(id: Self.id)))
    #expect(try sample(share: 10_000).includes(Installation(id: Self.id)))
  }

  @Test func everyAnswerContainsTheRule() throws {
    let rule = try sample(share: 500, groups: ["qa"], app: "<5")
    let extras = AnswerExtras(rollback: ManifestVersion(3), rollout: rule)
    let map = ResourceMap([ManifestItem]())
    let base = DocumentBase(ManifestVersion(553))
    let patch = ManifestPatch(from: [], to: [])
    let answers = [
      Documents.nothingNew(ManifestVersion(553), extras: extras),
      Documents.whole(ManifestVersion(554), map, extras: extras),
      Documents.patch(ManifestVersion(554), digest: map.digest, base: base, patch, extras: extras),
    ]
    for bytes in answers {
      #expect(try ConfigureAnswer.parse(bytes).extras == extras)
      #expect(try JSONValue.parse(bytes).canonical == bytes)
    }
    let none = Documents.nothingNew(ManifestVersion(553))
    #expect(!String(decoding: none, as: UTF8.self).contains("rollout"))
  }
}
