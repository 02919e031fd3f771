import Testing
import Values

@testable import XCacheDevice

@Suite struct CachedNameTests {
  @Test(arguments: [
    ("https%253A%252F%252Fm.test%252Fa.js", "https%3A%2F%2Fm.test%2Fa.js"), ("plain.js", "plain.js"),
    ("%E4%BD%A0", "你"), ("a%20b", "a b"), ("...", "..."), (".hidden", ".hidden"), ("%25", "%"),
    ("a%5Cb", "a\\b"), (String(repeating: "a", count: 255), String(repeating: "a", count: 255)),
    (String(repeating: "%61", count: 255), String(repeating: "a", count: 255)),
  ])
  func safeNamesAreDecoded(component: String, name: String) {
    #expect(CachedName(encoded: component)?.text == name)
  }

  @Test(arguments: [
    "", ".", "..", "%2E", "%2e%2E", ".%2e", "a/b", "a%2Fb", "%2f", "%2Fetc%2Fpasswd", "..%2F..%2Fx", "a%00b",
    "%00", "%", "%4", "a%zz", "%FF", "%C3%28", "%ED%A0%80", String(repeating: "a", count: 256),
    String(repeating: "%E4%BD%A0", count: 86),
  ])
  func unsafeNamesAreRefused(component: String) {
    #expect(CachedName(encoded: component) == nil)
  }

  @Test(arguments: [
    ("https://cdn.test/x/y/https%253A%252F%252Fm%252Fa?q=/z", "https%3A%2F%2Fm%2Fa"),
    ("http://cdn.test/a#/b", "a"), ("http://cdn.test/x/%2e%2e/a", "a"),
  ])
  func namesOfDownloads(url: String, name: String) throws {
    #expect(CachedName(download: try ResourceURL(url))?.text == name)
  }

  @Test(arguments: ["http://cdn.test/", "http://cdn.test", "http://cdn.test/a/", "http://cdn.test/a%2F"])
  func downloadsWithoutAName(url: String) throws {
    #expect(CachedName(download: try ResourceURL(url)) == nil)
  }
}
