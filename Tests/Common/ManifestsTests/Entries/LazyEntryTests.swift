import Testing
import Values

@testable import Manifests

/// Entries whose files updates leave out until a page asks for them.
@Suite struct LazyEntryTests {
  private static let text = EntryTests.text.replacing(",\"md5\"", with: ",\"lazy\":true,\"md5\"")

  @Test func lazyEntries() throws {
    #expect(try !Entry(parsing: Array(EntryTests.text.utf8)).isLazy)
    let entry = try Entry(parsing: Array(Self.text.utf8))
    #expect(entry.isLazy && entry.holdsOnlyKnown)
    #expect(String(decoding: entry.canonicalJSON, as: UTF8.self) == Self.text)
    let content = ResourceContent(
      md5: entry.md5, sha256: entry.sha256, size: entry.size, ctype: try #require(ContentType(entry.ctype)),
      isLazy: true)
    #expect(content.others == JSONObject([.init(key: "lazy", value: .bool(true))]))
    let made = Entry(content, download: entry.download, version: 1, bundle: try BundleName("main"))
    #expect(made.isLazy && made.holdsOnlyKnown)
    #expect(try Entry(parsing: made.canonicalJSON) == made)
    #expect(try ResourceContent(json: content.json) == content)
    #expect(try ResourceContent(json: made.json) == content)
  }

  @Test(arguments: ["false", "null", "1", #""true""#, "[]", "{}"]) func otherValuesAreRefused(
    _ value: String
  ) throws {
    let text = EntryTests.text.replacing(",\"md5\"", with: ",\"lazy\":\(value),\"md5\"")
    #expect(throws: JSONError.member("lazy")) { try Entry(parsing: Array(text.utf8)) }
    #expect(throws: JSONError.member("lazy")) {
      try ResourceContent(json: JSONValue.parse(Array(text.utf8)))
    }
  }

  /// A patch takes the member away with null, like any other.
  @Test func patchesTakeItAway() throws {
    let lazy = try Entry(parsing: Array(Self.text.utf8))
    let plain = try Entry(parsing: Array(EntryTests.text.utf8))
    #expect(plain.lost(since: lazy.others) == JSONObject([.init(key: "lazy", value: .null)]))
    #expect(lazy.lost(since: plain.others) == JSONObject())
    #expect(lazy.without(Entry.lazyKey) == plain && plain.without(Entry.lazyKey) == plain)
  }

  @Test func rewritingKeepsIt() throws {
    let rewriting = URLRewriting([
      .init(from: try BaseURL("https://m.example.com"), to: try BaseURL("https://t.example.com"))
    ])
    let url = try ResourceURL("https://m.example.com/a.map")
    for isLazy in [false, true] {
      let content = ResourceContent(
        md5: .of([]), sha256: .of([]), size: 0, ctype: .of(fileName: "a.map"), isLazy: isLazy)
      #expect(try rewriting.apply(to: content, of: url, to: rewriting.apply(to: url)).isLazy == isLazy)
    }
  }

  @Test func pagesMayNotBeLazy() throws {
    func mayBeLazy(_ ctype: String, _ fallbacks: PageFallbacks = PageFallbacks()) throws -> Bool {
      ResourceContent(
        md5: .of([]), sha256: .of([]), size: 0, ctype: try #require(ContentType(ctype)), fallbacks: fallbacks
      ).mayBeLazy
    }
    #expect(try mayBeLazy("text/css") && mayBeLazy("image/svg+xml"))
    #expect(try !mayBeLazy("text/html;charset=UTF-8") && !mayBeLazy("application/xhtml+xml"))
    #expect(try !mayBeLazy("text/plain", PageFallbacks([.init(prefix: "/")])))
  }
}
