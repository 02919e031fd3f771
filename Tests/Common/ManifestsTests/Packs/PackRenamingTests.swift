import Testing
import TestSupport

@testable import Manifests

@Suite struct PackRenamingTests {
  private static let site = "https://m.example.com/"

  private static func rename(_ text: String, _ pairs: [(String, String)]) -> String {
    let renaming = PackRenaming(pairs.map { (old: site + $0, new: site + $1) })
    return renaming.applied(to: Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? "nothing"
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let pairs: [(String, String)]
    let text: String
    let result: String
    var testDescription: String { text }
    init(_ text: String, _ result: String, _ pairs: (String, String)...) {
      (self.text, self.result, self.pairs) = (text, result, pairs)
    }
  }

  private static let one = ("a.Ab3dEf.js", "a.Zz9_-x.js")

  static let cases = [
    Case(#"import"./a.Ab3dEf.js""#, #"import"./a.Zz9_-x.js""#, one),
    Case("Ab3dEf", "Zz9_-x", one),
    Case("xAb3dEf", "nothing", one), Case("Ab3dEf-", "nothing", one), Case("Ab3dEf_1", "nothing", one),
    Case("ab3def", "nothing", one), Case("", "nothing", one), Case("Ab3dE", "nothing", one),
    Case("éAb3dEfé", "éZz9_-xé", one),
    Case("Ab3dEf Ab3dEf", "Zz9_-x Zz9_-x", one),
    Case("short", "nothing", ("short.js", "other.js")),
    Case("sixsix", "twelve-chars", ("sixsix.js", "twelve-chars.js")),
    Case("sixsix", "nothing", ("sixsix.js", "thirteenchars.js")),
    Case("sixsix", "x", ("sixsix.js", "x.js")),
    // The first pair counts; the replacement isn't replaced again.
    Case(
      "first1 second", "second third3", ("first1.js", "second.js"), ("second.js", "third3.js"),
      ("first1.js", "other1.js")),
    // Two words of one URL.
    Case("dirone fileone", "dirtwo filetwo", ("dirone/fileone.js", "dirtwo/filetwo.js")),
    // Other separators, or more words: no pair.
    Case("fileone", "nothing", ("fileone.js", "filetwo/js")),
    Case("fileone", "nothing", ("fileone.js", "filetwo.min.js")),
    Case("fileone", "nothing", ("fileone.js", "fileone.js")),
    Case(
      String(repeating: "a", count: 64), String(repeating: "b", count: 64),
      (String(repeating: "a", count: 64), String(repeating: "b", count: 64))),
    Case(String(repeating: "a", count: 65), "nothing", (String(repeating: "a", count: 65), "bbbbbb")),
    Case(
      "sixsixsixsixsixsixsixsixsixsixsixsix", "nothing",
      ("sixsixsixsixsixsixsixsixsixsixsixsix", String(repeating: "b", count: 65))),
  ]

  @Test(arguments: cases) func wordsAreRenamed(_ example: Case) {
    #expect(Self.rename(example.text, example.pairs) == example.result)
  }

  /// Compares with a naive implementation of the rule, on texts with many matching words.
  @Test(arguments: 0..<30) func agreesWithANaiveImplementation(seed: Int) {
    var random = SplitMix(seed: UInt64(seed))
    func word() -> String {
      String(
        (0..<Int.random(in: 1..<9, using: &random)).map { _ in "ab_-1".randomElement(using: &random) ?? "a" })
    }
    let words = (0..<30).map { _ in word() }
    let pairs = (0..<12).map { _ in (words.randomElement(using: &random) ?? "", word()) }
    let renaming = PackRenaming(pairs.map { (old: Self.site + $0, new: Self.site + $1) })
    var table: [String: String] = [:]
    for (old, new) in pairs
    where old != new && old.utf8.count >= 6 && new.utf8.count <= 2 * old.utf8.count && table[old] == nil {
      table[old] = new
    }
    for _ in 0..<20 {
      let parts = (0..<40).map { _ in words.randomElement(using: &random) ?? "" }
      let text = parts.joined(separator: ".")
      let wanted = parts.map { table[$0] ?? $0 }.joined(separator: ".")
      let got = renaming.applied(to: Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) }
      #expect((got ?? text) == wanted)
      #expect((got == nil) == !parts.contains { table[$0] != nil })
    }
  }
}
