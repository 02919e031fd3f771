import Testing

@testable import Manifests

@Suite struct NamesTests {
  @Test(arguments: ["yanxuan", "A", "shop-2_b", String(repeating: "a", count: 64), "deltas"])
  func appNames(_ text: String) throws {
    #expect(try AppName(text).text == text)
  }

  @Test(
    arguments: [
      ("", .empty), ("1shop", .start), ("_a", .start), ("é", .start), ("a.b", .character(".")),
      ("a/b", .character("/")), ("shöp", .character("ö")), ("delta", .reserved), ("Delta", .reserved),
      (String(repeating: "a", count: 65), .tooLong(limit: 64)),
    ] as [(String, NameError.Problem)])
  func invalidAppNames(_ text: String, _ problem: NameError.Problem) {
    #expect(throws: NameError(kind: .app, text: text, problem: problem)) { try AppName(text) }
  }

  @Test func appNamesThatDifferInCaseShareAKey() throws {
    #expect(try AppName("Shop").caseKey == AppName("shop").caseKey)
    #expect(try AppName("Shop") != AppName("shop"))
  }

  @Test(arguments: [("online", "xcache"), ("test", "xcache_test"), ("a-1", "xcache_a-1")])
  func namespacesOfChannels(_ name: String, _ space: String) throws {
    let channel = try ChannelName(name)
    #expect(channel.space == space)
    #expect(ChannelName(space: space) == channel)
  }

  @Test(arguments: ["", "xcach", "xcache_", "xcache_online", "xcache_Test", "xcachetest", "xcache_a/b"])
  func invalidNamespaces(_ space: String) {
    #expect(ChannelName(space: space) == nil)
  }

  @Test(arguments: ["", "Test", "1a", "-a", "a_b", "a.b", String(repeating: "a", count: 33)])
  func invalidChannelNames(_ text: String) {
    #expect(throws: NameError.self) { try ChannelName(text) }
  }

  @Test(arguments: ["a", "1", "activity-618", "a.b_c-D", String(repeating: "9", count: 128)])
  func bundleNames(_ text: String) throws {
    #expect(try BundleName(text).text == text)
  }

  @Test(arguments: ["", ".a", "-a", "_a", "a~b", "a b", "a/b", String(repeating: "a", count: 129)])
  func invalidBundleNames(_ text: String) {
    #expect(throws: NameError.self) { try BundleName(text) }
  }

  @Test(arguments: [("0", 0), ("1", 1), ("553", 553), ("9007199254740991", 1 << 53 - 1)])
  func versions(_ text: String, _ number: Int64) {
    #expect(ManifestVersion(text: text) == ManifestVersion(number))
    #expect(ManifestVersion(number).text == text)
  }

  @Test(arguments: [
    "", "00", "01", "-1", "+1", " 1", "1 ", "1.0", "9007199254740992", "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616", "１", "a",
  ])
  func invalidVersions(_ text: String) {
    #expect(ManifestVersion(text: text) == nil)
  }
}
