import Testing

@testable import Manifests
@testable import Values

@Suite struct MatchPatternTests {
  private static let cases: [(pattern: String, page: String, matches: Bool)] = [
    ("https://third.example.com/*", "https://third.example.com/", true),
    ("https://third.example.com/*", "https://third.example.com/a/b.html?x=1", true),
    ("https://third.example.com/*", "http://third.example.com/", false),
    ("https://third.example.com/*", "https://third.example.com:8443/", false),
    ("https://third.example.com/*", "https://a.third.example.com/", false),
    ("https://third.example.com:8443/*", "https://third.example.com:8443/x", true),
    ("https://third.example.com:443/*", "https://third.example.com/x", true),
    ("HTTPS://Third.Example.COM/*", "https://third.example.com/x", true),
    ("*://third.example.com/*", "http://third.example.com/", true),
    ("*://third.example.com/*", "https://third.example.com/", true),
    ("*://*/*", "http://anything.example/x", true),
    ("*://*/*", "https://anything.example:8443/x", false),
    ("*://*:8443/*", "https://anything.example:8443/x", true),
    ("https://*/pay", "https://shop.example/pay", true),
    ("https://*/pay", "https://shop.example/pays", false),
    ("https://*.example.com/*", "https://example.com/", true),
    ("https://*.example.com/*", "https://a.b.example.com/", true),
    ("https://*.example.com/*", "https://notexample.com/", false),
    ("https://m.example.com/pay", "https://m.example.com/pay", true),
    ("https://m.example.com/pay", "https://m.example.com/pay?id=1", true),
    ("https://m.example.com/pay", "https://m.example.com/pay#top", true),
    ("https://m.example.com/pay", "https://m.example.com/pay/", false),
    ("https://m.example.com/pay?id=1", "https://m.example.com/pay?id=1", true),
    ("https://m.example.com/pay?id=1", "https://m.example.com/pay?id=12", false),
    ("https://m.example.com/pay?id=1", "https://m.example.com/pay", false),
    ("https://m.example.com/pay?*id=1*", "https://m.example.com/pay?x=2&id=1&y=3", true),
    ("https://m.example.com/*/pay", "https://m.example.com/a/b/pay", true),
    ("https://m.example.com/*/pay", "https://m.example.com/pay", false),
    ("https://m.example.com/a*b*c", "https://m.example.com/abc", true),
    ("https://m.example.com/a*b*c", "https://m.example.com/aXbXbXc", true),
    ("https://m.example.com/a*b*c", "https://m.example.com/acb", false),
    ("https://m.example.com/ab*b", "https://m.example.com/ab", false),
    ("https://m.example.com/a%2Db", "https://m.example.com/a-b", true),
    ("https://m.example.com/a-b", "https://m.example.com/a%2Db", true),
    ("https://m.example.com/a%2Ab", "https://m.example.com/a*b", true),
    ("https://m.example.com/a%2Ab", "https://m.example.com/aXb", false),
    ("https://m.example.com/a%2Ab?", "https://m.example.com/a*b?", true),
    ("https://m.example.com/ab?", "https://m.example.com/ab", false),
    ("https://m.example.com/ab?*", "https://m.example.com/ab?", true),
    ("https://m.example.com/**", "https://m.example.com/x", true),
    ("https://m.example.com/*aab*abaa*", "https://m.example.com/aaab/ababaac", true),
    ("https://m.example.com/*aab*abaa*", "https://m.example.com/aabaa", false),
    ("http://[::1]:8080/*", "http://[::1]:8080/x", true),
  ]

  @Test(arguments: 0..<cases.count) func matches(index: Int) throws {
    let (pattern, page, matches) = Self.cases[index]
    #expect(
      try MatchPattern(pattern).matches(ResourceURL(page)) == matches, "\(pattern) against \(page)")
  }

  @Test(arguments: [
    ("HTTPS://Third.example.com:443/*", "https://third.example.com/*"),
    ("*://*.EXAMPLE.com/a b/*", "*://*.example.com/a%20b/*"),
    ("https://*:443/./x/../*", "https://*/*"),
    ("*://*/*", "*://*/*"),
  ]) func patternsAreNormalised(text: String, form: String) throws {
    let pattern = try MatchPattern(text)
    #expect(pattern.text == form)
    #expect(try MatchPattern(form) == pattern)
  }

  /// What is stored and sent is the normalised form, which has to be one, too.
  @Test func whatIsTooLongOnceItIsEscapedIsTooLong() {
    let text = "https://m.example.com/" + String(repeating: "é", count: 400)
    #expect(throws: MatchPatternError(text: text, problem: .tooLong(limit: 1024))) { try MatchPattern(text) }
  }

  /// Matching takes time in proportion to the lengths, also with many wildcards.
  @Test func manyWildcardsAreCheap() throws {
    let pattern = try MatchPattern("https://m.example.com/" + String(repeating: "a*", count: 400) + "b")
    let page = try ResourceURL("https://m.example.com/" + String(repeating: "a", count: 4000))
    #expect(!pattern.matches(page))
    let almost = try MatchPattern("https://m.example.com/*" + String(repeating: "a", count: 990) + "b*")
    let clock = ContinuousClock()
    #expect(
      clock.measure { for _ in 0..<20 where almost.matches(page) { Issue.record("it matches") } }
        < .seconds(5))
  }
}
