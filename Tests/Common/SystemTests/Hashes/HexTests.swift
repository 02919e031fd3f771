import System
import Testing

@Suite struct HexTests {
  @Test(arguments: [([], ""), ([0], "00"), ([0, 255, 16, 10], "00ff100a")] as [([UInt8], String)])
  func bytesRoundTrip(bytes: [UInt8], text: String) {
    #expect(Hex.encode(bytes.span.bytes) == text)
    #expect(Hex.decode(text, count: bytes.count) == bytes)
  }

  @Test func everyByteRoundTrips() {
    let bytes = (0...255).map { UInt8($0) }
    #expect(Hex.decode(Hex.encode(bytes.span.bytes), count: 256) == bytes)
  }

  /// Only lower-case digits are accepted, so that a digest has one form.
  @Test(arguments: ["00FF", "0", "000", "0g", " 0", "0x", "００", "é"]) func invalidHexIsRefused(text: String) {
    for count in 0...4 { #expect(Hex.decode(text, count: count) == nil) }
  }

  @Test func otherLengthsAreRefused() {
    #expect(Hex.decode("00ff", count: 1) == nil && Hex.decode("00ff", count: 3) == nil)
  }
}
