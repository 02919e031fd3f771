import Testing

@testable import Values

@Suite struct HumanTextTests {
  @Test(arguments: [
    "", "fixes the cart", "Ünïcode ✓ 数", "a\u{200D}b", "👩\u{200D}💻", "\u{FFFD}",
    String(repeating: "a", count: 16),
  ])
  func plainTextIsAccepted(text: String) {
    #expect(HumanText.problem(of: text, .line(bytes: 64)) == nil)
    #expect(HumanText.problem(of: text, .message) == nil)
  }

  @Test(arguments: ["\u{0}", "a\u{0}b", "\u{1B}[2J", "\u{7F}", "\u{85}", "\u{9B}31m", "a\u{8}"])
  func controlCharactersAreRefused(text: String) {
    #expect(HumanText.problem(of: text, .line(bytes: 64)) != nil)
    #expect(HumanText.problem(of: text, .message) != nil)
  }

  /// With direction marks one text can look like another, as `exe.jpg` for `gpj.exe`.
  @Test(
    arguments: [
      0x200E, 0x200F, 0x202A, 0x202E, 0x2066, 0x2069, 0xFEFF, 0xFDD0, 0xFFFF, 0x1FFFE, 0x10FFFF,
    ] as [UInt32])
  func directionMarksAndNoncharactersAreRefused(number: UInt32) throws {
    let text = "exe\(try #require(Unicode.Scalar(number)))gpj.exe"
    #expect(HumanText.problem(of: text, .line(bytes: 64)) != nil)
    #expect(HumanText.problem(of: text, .message) != nil)
  }

  @Test(arguments: ["a\nb", "a\r\nb", "\ta", "a\u{2028}b"])
  func onlyMessagesMayHaveLineBreaks(text: String) {
    #expect(HumanText.problem(of: text, .line(bytes: 64)) != nil)
    #expect(HumanText.problem(of: text, .message) == nil)
  }

  @Test func lengthIsInBytes() {
    #expect(HumanText.problem(of: "äää", .line(bytes: 6)) == nil)
    #expect(HumanText.problem(of: "äääa", .line(bytes: 6)) == .tooLong(limit: 6))
    #expect("\(HumanText.Problem.character("\u{0}"))".contains("U+0000"))
  }
}
