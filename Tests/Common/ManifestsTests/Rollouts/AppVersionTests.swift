import Testing

@testable import Manifests

@Suite struct AppVersionTests {
  @Test func versionsAreOrderedAsInSemanticVersioning() throws {
    // 1.0.0-alpha to 1.0.0 are the example of §11.
    let ordered = [
      "0", "0.0.0.1", "0.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta",
      "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0",
      "1.0.0.1", "1.2", "1.10", "999999999.999999999.999999999.999999999",
    ]
    let versions = try ordered.map { try #require(AppVersion($0)) }
    for (i, a) in versions.enumerated() {
      for (j, b) in versions.enumerated() {
        #expect((a < b) == (i < j), "\(ordered[i]) and \(ordered[j])")
        #expect((a == b) == (i == j))
      }
    }
  }

  @Test(arguments: [
    ("4.2", "4.2.0"), ("4", "4.0.0.0"), ("04.002", "4.2"), ("4.2+77", "4.2+abc.-1"), ("1-a+b", "1.0-a"),
    ("1-x-y", "1.0.0-x-y"),
  ])
  func equalVersions(a: String, b: String) throws {
    #expect(try #require(AppVersion(a)) == #require(AppVersion(b)))
  }

  @Test func longPreReleaseNumbersAreCompared() throws {
    let (a, b) = (String(repeating: "9", count: 60), "1" + String(repeating: "0", count: 60))
    #expect(try #require(AppVersion("1-\(a)")) < #require(AppVersion("1-\(b)")))
  }

  @Test(arguments: [
    "", "v1", "1.", ".1", "1..2", "1.2.3.4.5", "1234567890", "1-", "1+", "1-a..b", "1-01", "1- a", " 1", "1 ",
    "-1",
    "1.x", "1+a_b", "1-ä", "١", "1+a+b", String(repeating: "1", count: 257),
    "1-" + String(repeating: "a", count: 255),
  ])
  func invalidVersionsAreRefused(text: String) { #expect(AppVersion(text) == nil) }

  @Test(arguments: [
    (">=4.2 <5", ["4.2", "4.10.1", "4.99-x", "5-rc.1"], ["4.2-rc.1", "4.1", "5", "5.0.1"]),
    ("<3||=6.0.1  || >=7 <=7.5", ["2", "6.0.1+9", "7", "7.5.0"], ["3", "6.0.1-a", "6.0.2", "7.5.1"]),
    (" >1 ", ["1.0.0.1"], ["1", "0"]),
  ])
  func rangesContain(range: String, inside: [String], outside: [String]) throws {
    let range = try AppVersionRange(range)
    for text in inside { #expect(range.contains(try #require(AppVersion(text))), "\(text)") }
    for text in outside { #expect(!range.contains(try #require(AppVersion(text))), "\(text)") }
  }

  @Test(arguments: [
    ("<4 >=5", true), ("<4 >4", true), ("<=4 >4", true), ("<4 >=4", true), ("=4 =5", true), ("=4 >4", true),
    ("<4 >=5 || <3 >3", true), (">5 =4 <6", true), ("<=4 >=4", false), ("=4 >=4 <=4.0", false),
    ("<4 >=3", false), ("<4", false),
    (">=5", false), ("<4 >=5 || =1", false), ("<4.0.1 >4", false), ("<4 >4-0", false),
  ])
  func emptyRangesAreDetected(_ text: String, isEmpty: Bool) throws {
    // Devices accept them; writing one is an error.
    #expect(try AppVersionRange(text).isEmpty == isEmpty)
    #expect(((try? AppVersionRange.written(text)) == nil) == isEmpty)
  }

  @Test func invalidRangesAreRefused() {
    let cases: [(String, AppVersionRangeError)] = [
      ("", .empty), ("  ", .empty), ("||", .empty), (">=1 ||", .empty), ("4.2", .comparator("4.2")),
      (">= 4.2", .comparator(">=")), ("==1", .comparator("==1")), ("=>1", .comparator("=>1")),
      ("~1.2", .comparator("~1.2")), (">=1|<2", .comparator(">=1|<2")), ("<1\t", .comparator("<1\t")),
      (Array(repeating: ">1", count: 17).joined(separator: " "), .tooMany(17)),
      (">1" + String(repeating: " ", count: 255), .tooLong(257)),
    ]
    for (text, error) in cases {
      #expect(throws: error) { try AppVersionRange(text) }
    }
  }
}
