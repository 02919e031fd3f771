import Testing
import Values

@Suite struct PercentEncodingTests {
  @Test(arguments: [
    ("", ""), ("aZ09-._~", "aZ09-._~"), ("a b/c%é", "a%20b%2Fc%25%C3%A9"), ("\u{0}\u{7F}", "%00%7F"),
  ])
  func unreservedCharactersAreNotEncoded(text: String, encoded: String) {
    #expect(PercentEncoding.encode(text) == encoded)
    #expect(PercentEncoding.decode(encoded.utf8) == Array(text.utf8))
    #expect(PercentEncoding.decodeLeniently(encoded.utf8) == Array(text.utf8))
  }

  @Test func slashesAreKeptOnRequest() {
    #expect(PercentEncoding.encode("a/b c", keepsSlashes: true) == "a/b%20c")
    #expect(PercentEncoding.encodePercents("a%20b/%") == "a%2520b/%25")
  }

  @Test(arguments: [("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("%4%41", "%4A"), ("100%", "100%")])
  func invalidEscapesAreRefusedOrKept(text: String, lenient: String) {
    #expect(PercentEncoding.decode(text.utf8) == nil)
    #expect(PercentEncoding.decodeLeniently(text.utf8) == Array(lenient.utf8))
  }
}
