import System
import Testing

@Suite struct EncodingTests {
  /// RFC 4648 §10, and what is no canonical form.
  @Test(arguments: [
    ("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmE=", "fooba"),
    ("Zm9vYmFy", "foobar"),
  ])
  func base64(text: String, bytes: String) {
    #expect(Base64.decode(text) == Array(bytes.utf8))
  }

  @Test(arguments: ["Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zm9v=", "Zm 9v", "====", "Zg==Zg=="])
  func noBase64(text: String) {
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
