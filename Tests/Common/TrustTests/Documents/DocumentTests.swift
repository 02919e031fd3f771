import Manifests
import System
import Testing
import Values

@testable import Trust

/// What writers refuse; what readers refuse is in the vectors.
@Suite struct DocumentTests {
  private func root(
    keys: [UInt8] = [1, 2, 3], roots: KeyGroup = Symbolic.group(1), grants: [ReleaseGrant] = [],
    heads: [UInt8] = [2], scriptKey: [UInt8]? = nil, isOff: Bool = false
  ) throws -> TrustRoot {
    try TrustRoot(
      app: try AppName("shop"), number: .first, keys: keys.map(Symbolic.key), roots: roots, grants: grants,
      heads: Set(heads.map { Symbolic.key($0).id }), scriptKey: scriptKey, isOff: isOff)
  }

  @Test func rootsThatNoReaderTakesAreNotWritten() throws {
    _ = try root()
    _ = try root(heads: [], isOff: true)
    #expect(throws: TrustFormError.member("heads")) { try root(heads: []) }
    #expect(throws: TrustFormError.member("roots")) { try root(heads: [1]) }
    #expect(throws: TrustFormError.member("keys")) { try root(heads: [4]) }
    #expect(throws: TrustFormError.member("keys")) { try root(roots: Symbolic.group(9)) }
    #expect(throws: TrustFormError.member("keys")) { try root(keys: Array(1...65)) }
    #expect(throws: TrustFormError.member("scriptKey")) { try root(scriptKey: [1]) }
    let grant = ReleaseGrant(signers: Symbolic.group(3))
    _ = try root(grants: Array(repeating: grant, count: TrustRoot.grantLimit))
    #expect(throws: TrustFormError.member("releases")) {
      try root(grants: Array(repeating: grant, count: TrustRoot.grantLimit + 1))
    }
  }

  @Test func groupsHaveAsManyKeysAsMustSign() {
    let ids = Set((1...17).map { Symbolic.key($0).id })
    #expect(KeyGroup(ids) == nil)
    #expect(KeyGroup(Set(ids.prefix(16)), threshold: 8) != nil)
    #expect(KeyGroup(Set(ids.prefix(16)), threshold: 9) == nil)
    #expect(KeyGroup(Set(ids.prefix(1)), threshold: 2) == nil)
    #expect(KeyGroup(Set(ids.prefix(1)), threshold: 0) == nil)
    #expect(KeyGroup([]) == nil)
  }

  @Test func numbersHaveRanges() {
    let limit: Int64 = 1 << 53
    for number in [-1, limit, .max, .min] {
      #expect(Serial(number) == nil && TrustTime(number) == nil && RootNumber(number) == nil)
    }
    for number in [1, limit - 1] {
      #expect(Serial(number) != nil && TrustTime(number) != nil && RootNumber(number) != nil)
    }
    #expect(RootNumber(0) == nil)
    #expect(RootNumber(limit - 1)?.next == nil)
    #expect(RootNumber(text: "01") == nil && RootNumber(text: "0") == nil && RootNumber(text: "1") == .first)
    #expect(Serial.highest.number == limit - 1)
  }

  @Test func statementsAndHeadsThatNoReaderTakesAreNotWritten() throws {
    let (one, two) = (try #require(Serial(1)), try #require(Serial(2)))
    let (app, digest) = (try AppName("shop"), CheckSample.digest("x"))
    #expect(throws: TrustFormError.member("floor")) {
      try PrefetchStatement(app: app, channels: [.online], content: digest, serial: one, floor: two)
    }
    #expect(throws: TrustFormError.member("channels")) {
      try PrefetchStatement(app: app, channels: [], content: digest, serial: one)
    }
    #expect(throws: TrustFormError.member("until")) {
      try TrustHead(
        app: app, channel: .online, version: .none, digest: digest, at: try #require(TrustTime(2)),
        until: try #require(TrustTime(1)))
    }
  }

  @Test(arguments: [
    ("home", "home", true), ("home", "home2", false), ("home*", "home2", true), ("home*", "hom", false),
    ("a.b-*", "a.b-c", true),
  ]) func bundlesAreMatchedByName(pattern: String, name: String, matches: Bool) throws {
    let pattern = try #require(ReleaseGrant.BundlePattern(pattern))
    #expect(pattern.matches(try BundleName(name)) == matches)
  }

  @Test(arguments: [
    ("https://m.example.com/a/", "https://m.example.com/a/b.js", true),
    ("https://m.example.com/a/", "https://m.example.com/a/", true),
    ("https://m.example.com/a/", "https://m.example.com/a", false),
    ("https://m.example.com/a/", "https://m.example.com/ab/c", false),
    ("https://m.example.com/a/", "https://m.example.com/%61/c", false),
    ("https://m.example.com/", "https://m.example.com.evil.example/", false),
    ("https://m.example.com/", "http://m.example.com/", false),
    ("https://m.example.com/", "https://m.example.com:8443/", false),
  ]) func prefixesCoverWholeSegments(prefix: String, url: String, covers: Bool) throws {
    let prefix = try #require(ReleaseGrant.URLPrefix(prefix))
    #expect(prefix.covers(try ResourceURL(url)) == covers)
  }
}
