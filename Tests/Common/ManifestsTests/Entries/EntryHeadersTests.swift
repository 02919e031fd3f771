import Testing

@testable import Manifests
@testable import Values

@Suite struct EntryHeadersTests {
  private static func read(_ text: String) throws -> EntryHeaders {
    try EntryHeaders(json: JSONValue.parse(Array(text.utf8)))
  }

  @Test func namesAreCaseInsensitiveAndWrittenCanonically() throws {
    let text =
      #"{"x-frame-options":"DENY","CONTENT-SECURITY-POLICY":"default-src 'self'","Referrer-Policy":"origin"}"#
    let headers = try Self.read(text)
    let written =
      #"{"Content-Security-Policy":"default-src 'self'","Referrer-Policy":"origin","X-Frame-Options":"DENY"}"#
    #expect(String(decoding: headers.json.canonical, as: UTF8.self) == written)
    #expect(try Self.read(written) == headers)
    #expect(try Self.read("{}") == EntryHeaders() && EntryHeaders().isEmpty)
  }

  @Test func allowedNamesAreSorted() {
    #expect(EntryHeaders.Name.allCases.sorted() == EntryHeaders.Name.allCases)
    #expect(EntryHeaders.Name.allCases.count == 9)
  }

  @Test(
    arguments: [
      ("[]", .form), (#"{"X-Frame-Options":1}"#, .form), (#"{"Set-Cookie":"a=b"}"#, .unknown("Set-Cookie")),
      (#"{"Content-Type":"a/b"}"#, .unknown("Content-Type")),
      (#"{"X-Frame-Options":"DENY","x-frame-options":"DENY"}"#, .twice(.xFrameOptions)),
      (#"{"X-Frame-Options":""}"#, .value(.xFrameOptions, .empty)),
      (#"{"X-Frame-Options":" DENY"}"#, .value(.xFrameOptions, .space)),
      (#"{"X-Frame-Options":"DENY "}"#, .value(.xFrameOptions, .space)),
      (#"{"X-Frame-Options":"a\nb"}"#, .value(.xFrameOptions, .byte(10, at: 1))),
      (#"{"X-Frame-Options":"a\rb"}"#, .value(.xFrameOptions, .byte(13, at: 1))),
      (#"{"X-Frame-Options":"a\tb"}"#, .value(.xFrameOptions, .byte(9, at: 1))),
      (#"{"X-Frame-Options":"a\u0000"}"#, .value(.xFrameOptions, .byte(0, at: 1))),
      (#"{"X-Frame-Options":"a\u007f"}"#, .value(.xFrameOptions, .byte(0x7F, at: 1))),
      (#"{"X-Frame-Options":"é"}"#, .value(.xFrameOptions, .byte(0xC3, at: 0))),
    ] as [(String, EntryHeaders.Fault)])
  func invalidHeadersAreRefused(_ text: String, _ fault: EntryHeaders.Fault) {
    #expect(throws: fault) { try Self.read(text) }
  }

  @Test func valuesAreLimitedTo8KB() throws {
    let longest = String(repeating: "a", count: 8192)
    #expect(try EntryHeaders.Value(longest).text == longest)
    #expect(throws: EntryHeaders.Value.Fault.long(8193)) { try EntryHeaders.Value(longest + "a") }
  }

  private static let text = EntryTests.text.replacing(
    ",\"md5\"", with: ",\"headers\":{\"X-Frame-Options\":\"DENY\"},\"md5\"")

  @Test func headersOfEntries() throws {
    let entry = try Entry(parsing: Array(Self.text.utf8))
    #expect(entry.headers == EntryHeaders([.xFrameOptions: try .init("DENY")]))
    #expect(String(decoding: entry.canonicalJSON, as: UTF8.self) == Self.text)
    #expect(entry.holdsOnlyKnown)
    let made = Entry(
      ResourceContent(
        md5: entry.md5, sha256: entry.sha256, size: entry.size, ctype: try #require(ContentType(entry.ctype)),
        headers: entry.headers), download: entry.download, version: entry.version)
    #expect(made == entry)
  }

  /// Headers of later versions are ignored but kept, and values that would make two fields are refused.
  @Test func headersOfLaterVersionsAreKept() throws {
    let later = Self.text.replacing("\"DENY\"", with: "\"DENY\",\"X-Later\":[1]")
    let entry = try Entry(parsing: Array(later.utf8))
    #expect(entry.headers == EntryHeaders([.xFrameOptions: try .init("DENY")]))
    #expect(String(decoding: entry.canonicalJSON, as: UTF8.self) == later)
    #expect(!entry.holdsOnlyKnown)
    let split = Self.text.replacing("DENY", with: "DENY\\r\\nSet-Cookie: a=b")
    #expect(throws: JSONError.member("headers")) { try Entry(parsing: Array(split.utf8)) }
  }

  @Test func headersOfContents() throws {
    let text = """
      {"ctype":"text/css","headers":{"X-Frame-Options":"DENY"},"md5":"0518c371936fd611fc3b897a76c11111",\
      "sha256":"cb71c52abf851f6ed634144a40500112cb71c52abf851f6ed634144a40500112","size":0}
      """
    let content = try ResourceContent(json: JSONValue.parse(Array(text.utf8)))
    #expect(content.headers == EntryHeaders([.xFrameOptions: try .init("DENY")]))
    #expect(String(decoding: content.json.canonical, as: UTF8.self) == text)
    let wrong = Array(text.replacing("DENY", with: "").utf8)
    #expect(throws: JSONError.member("headers")) { try ResourceContent(json: JSONValue.parse(wrong)) }
  }
}
