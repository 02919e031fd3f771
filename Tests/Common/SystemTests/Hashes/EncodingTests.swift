import System
import Testing

@Suite struct EncodingTests {
  /// RFC 4648 §10.
  @Test(arguments: [
    ("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmE=", "fooba"),
    ("Zm9vYmFy", "foobar"),
  ])
  func base64(text: String, bytes: String) {
    #expect(Base64.decode(text) == Array(bytes.utf8))
    #expect(Base64.encode(Array(bytes.utf8)) == text)
  }

  @Test func everyByteAtEveryOffset() {
    let bytes = (0...255).map { UInt8($0) }
    for start in 0..<3 {
      let part = Array(bytes[start...])
      #expect(Base64.decode(Base64.encode(part)) == part)
    }
    #expect(Base64.encode([0xFB, 0xEF, 0xFF]) == "++//")
  }

  @Test(
    arguments: [
      ("", []), ("AA", [0]), ("-_8", [0xFB, 0xFF]), ("AQAB", [1, 0, 1]), ("Zm9vYg", Array("foob".utf8)),
    ] as [(String, [UInt8])])
  func base64URL(text: String, bytes: [UInt8]) {
    #expect(Base64URL.decode(text.utf8) == bytes)
    #expect(Base64URL.encode(bytes) == text)
  }

  /// Padding, the other alphabet, bits left over, lengths that no bytes have.
  @Test(arguments: ["AA==", "AQAB=", "-_9", "AB", "A", "AAAAA", "+_8", "-/8", "A A", "AA\n", "é", "AQAB."])
  func base64URLIsCanonical(text: String) { #expect(Base64URL.decode(text.utf8) == nil) }

  /// RFC 4231, sections 4.2, 4.3 and 4.7: short keys, and one that is longer than a block.
  @Test(arguments: [
    (
      String(repeating: "0b", count: 20), "Hi There",
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      "4a656665", "what do ya want for nothing?",
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      String(repeating: "aa", count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
  ])
  func hmacSHA256(key: String, message: String, digest: String) throws {
    let key = try #require(Hex.decode(key, count: key.utf8.count / 2))
    #expect(Hex.encode(HMAC.sha256(key, Array(message.utf8)).span.bytes) == digest)
  }

  @Test(arguments: ["Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zm9v=", "Zm 9v", "====", "Zg==Zg=="])
  func invalidBase64IsRefused(text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test(arguments: [
    (0, "1970-01-01T00:00:00.000Z"), (1_795_190_622_002, "2026-11-20T16:03:42.002Z"),
    (951_782_399_999, "2000-02-28T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
  ])
  func timestamps(milliseconds: Int64, text: String) {
    #expect(Timestamp.text(milliseconds) == text)
  }
}
