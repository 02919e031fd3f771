import BuildCheck
import Testing

@testable import Publishing

@Suite struct GlobTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let pattern: String
    let matching: [String]
    let others: [String]
    var testDescription: String { pattern }
  }

  @Test(arguments: [
    Case(pattern: "*.map", matching: ["a.map", "x/y/a.map", ".map"], others: ["a.mapx", "map", "a.map.js"]),
    Case(pattern: "/*.map", matching: ["a.map"], others: ["x/a.map"]),
    Case(pattern: "img/*.png", matching: ["img/a.png"], others: ["img/x/a.png", "x/img/a.png", "img/a.jpg"]),
    Case(
      pattern: "img/**/*.png", matching: ["img/a.png", "img/x/a.png", "img/x/y/a.png"],
      others: ["a.png", "imgx/a.png"]),
    Case(pattern: "**/img", matching: ["img", "a/img", "a/b/img/c.png"], others: ["imgs", "a/imgs"]),
    Case(pattern: "**", matching: ["a", "a/b"], others: []),
    Case(
      pattern: "node_modules", matching: ["node_modules/a/b.js", "x/node_modules/c"],
      others: ["node_modules2/a"]),
    Case(
      pattern: "node_modules/", matching: ["node_modules/a/b.js", "x/node_modules/c"],
      others: ["node_modules2/a"]),
    Case(pattern: "a/b", matching: ["a/b", "a/b/c/d"], others: ["a/bc", "x/a/b"]),
    Case(pattern: "a/**", matching: ["a/b", "a/b/c"], others: ["b/a", "ab/c"]),
    Case(pattern: "a?c", matching: ["abc", "aéc", "a😀c", "x/abc"], others: ["ac", "a/c", "abbc"]),
    Case(pattern: "[a-c]x", matching: ["ax", "cx"], others: ["dx", "x", "aax"]),
    Case(pattern: "[!a-c]x", matching: ["dx", "-x"], others: ["ax"]),
    Case(pattern: "[^a]x", matching: ["bx"], others: ["ax"]),
    Case(pattern: "[]a]x", matching: ["]x", "ax"], others: ["bx"]),
    Case(pattern: "[a-]x", matching: ["ax", "-x"], others: ["bx"]),
    Case(pattern: "[é-ü]", matching: ["ê"], others: ["e"]),
    Case(pattern: "\\*.js", matching: ["*.js"], others: ["a.js"]),
    Case(pattern: "\\[x\\]", matching: ["[x]"], others: ["x"]),
    Case(pattern: "*a*b*c", matching: ["abc", "xaybzc", "aabbcc"], others: ["acb", "ab"]),
    Case(pattern: "a/**/b/**/c", matching: ["a/b/c", "a/x/b/y/z/c", "a/b/b/c/c"], others: ["a/c", "a/b"]),
    Case(pattern: ".*", matching: [".env", "x/.env/a"], others: ["env", "a.b"]),
    Case(pattern: "A", matching: ["A"], others: ["a"]),
    Case(pattern: "e\u{301}", matching: ["e\u{301}"], others: ["é"]),
  ])
  func matching(_ item: Case) throws {
    let glob = try #require(Glob(item.pattern))
    for path in item.matching { #expect(glob.matches(path), "\(path)") }
    for path in item.others { #expect(!glob.matches(path), "\(path)") }
  }

  @Test(arguments: ["", "/", "//", "a//b", "[a", "[", "[]", "[b-a]", "a\\"])
  func invalidPatterns(_ text: String) { #expect(Glob(text) == nil) }

  @Test func manyStarsAreFast() throws {
    let glob = try #require(Glob(String(repeating: "*a", count: 40) + "b"))
    #expect(!glob.matches(String(repeating: "a", count: 4000)))
  }
}
