import Testing

@testable import Manifests

@Suite struct HumanTextTests {
  @Test(arguments: ["", "fixes the cart", "Ünïcode ✓ 数", "a\u{200D}b", String(repeating: "a", count: 16)])
  func isTaken(text: String) {
    #expect(HumanText.problem(of: text, .line(bytes: 64)) == nil)
    #expect(HumanText.problem(of: text, .message) == nil)
  }

  @Test(arguments: ["\u{0}", "a\u{0}b", "\u{1B}[2J", "\u{7F}", "\u{85}", "\u{9B}31m", "a\u{8}"])
  func controlCharactersAreRefused(text: String) {
    #expect(HumanText.problem(of: text, .line(bytes: 64)) != nil)
    #expect(HumanText.problem(of: text, .message) != nil)
  }

  @Test(arguments: ["a\nb", "a\r\nb", "\ta", "a\u{2028}b"])
  func onlyMessagesHaveLines(text: String) {
    #expect(HumanText.problem(of: text, .line(bytes: 64)) != nil)
    #expect(HumanText.problem(of: text, .message) == nil)
  }

  @Test func lengthIsInBytes() {
    #expect(HumanText.problem(of: "äää", .line(bytes: 6)) == nil)
    #expect(HumanText.problem(of: "äääa", .line(bytes: 6)) == .tooLong(limit: 6))
    #expect("\(HumanText.Problem.character("\u{0}"))".contains("U+0000"))
  }
}
