import Testing

@testable import Manifests
@testable import Values

@Suite struct WordsTests {
  @Test func passwordsAreNotPrinted() {
    let error = #expect(throws: ResourceURLError.self) { try ResourceURL("https://u:secret@a/") }
    #expect(error?.description.contains("secret") == false)
  }

  @Test(arguments: [
    (
      "https://bücher.de/",
      "\"https://bücher.de/\": the host has characters outside ASCII; write it as punycode (xn--…)"
    ),
    ("m.example.com", "\"m.example.com\": not an absolute URL; write it with http:// or https:// in front"),
    ("https://a b", "\"https://a b\": the host can't contain a space; check its spelling"),
    (
      "https://a/\u{1B}[1m\t",
      "\"https://a/\u{FFFD}[1m\u{FFFD}\": a URL can't contain tabs or line breaks; remove them"
    ),
  ])
  func messagesForURLs(_ text: String, _ words: String) {
    let error = #expect(throws: ResourceURLError.self) { try ResourceURL(text) }
    #expect(error?.description == words)
  }

  @Test func messagesForNames() {
    let error = #expect(throws: NameError.self) { try AppName("sh\u{7}p") }
    #expect(
      error?.description
        == "the app's name \"sh\u{FFFD}p\" can't contain U+0007; use a letter, then letters, digits, - and _")
  }

  @Test func longTextsAreTruncated() {
    let error = NameError(
      kind: .app, text: String(repeating: "x", count: 10_000), problem: .tooLong(limit: 64))
    #expect(error.description.utf8.count < 300)
  }
}
