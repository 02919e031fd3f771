import System
import Testing

@Suite struct HeaderTextTests {
  @Test(arguments: [
    ("", ""), ("a=1; b", "a=1; b"), ("é 搜 😀", "é 搜 😀"), ("\u{FEFF}\u{FFFD}\u{7F}", "\u{FEFF}\u{FFFD}\u{7F}"),
  ])
  func validUTF8IsReadAsText(_ bytes: String, _ text: String) {
    #expect(Array(HeaderText.text(Array(bytes.utf8)).utf8) == Array(text.utf8))
    #expect(HeaderText.bytes(text) == Array(bytes.utf8))
  }

  /// Latin-1, GBK, and UTF-8 that is truncated, overlong, a surrogate, out of range, or that HeaderText uses for other
  /// bytes.
  @Test(
    arguments: [
      [0x61, 0xE9, 0x62], [0xCB, 0xD1, 0xCB, 0xF7], [0xE6, 0x90], [0xC0, 0x80], [0xED, 0xA0, 0x80],
      [0xF4, 0x90, 0x80, 0x80], [0xF4, 0x8F, 0xBE, 0x80], [0xF4, 0x8F, 0xBF, 0xBF, 0x61], [0x80],
      [0xFF, 0xC3, 0xA9],
      [0xC3, 0xC3, 0xA9],
    ] as [[UInt8]])
  func invalidUTF8RoundTrips(_ bytes: [UInt8]) {
    let text = HeaderText.text(bytes)
    #expect(HeaderText.bytes(text) == bytes && !text.unicodeScalars.contains("\u{FFFD}"))
  }

  @Test func everyPairOfBytesRoundTrips() {
    for first in UInt8.min...UInt8.max {
      for second in UInt8.min...UInt8.max {
        let bytes = [first, second, 0xA9]
        if HeaderText.bytes(HeaderText.text(bytes)) != bytes { Issue.record("\(bytes)") }
      }
    }
  }
}
