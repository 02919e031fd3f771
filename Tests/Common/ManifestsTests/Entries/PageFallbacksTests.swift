import System
import Testing

@testable import Manifests
@testable import Values

@Suite struct PageFallbacksTests {
  private static func json(_ text: String) throws -> JSONValue { try JSONValue.parse(Array(text.utf8)) }

  private static func read(_ text: String) throws -> PageFallbacks { try PageFallbacks(json: json(text)) }

  @Test func formIsCanonical() throws {
    let text =
      #"[{"prefix":"/b c/","except":[]},{"later":{"x":[1]},"prefix":"/a/../app/","except":["/app/*.*","/app/é?q=*"]}]"#
    let fallbacks = try Self.read(text)
    let written =
      #"[{"except":["/app/*.*","/app/%C3%A9?q=*"],"prefix":"/app/"},{"prefix":"/b%20c/"}]"#
    #expect(String(decoding: fallbacks.json.canonical, as: UTF8.self) == written)
    #expect(try Self.read(written) == fallbacks)
    #expect(fallbacks.rules.map(\.prefix) == ["/app/", "/b%20c/"])
    #expect(PageFallbacks().isEmpty && PageFallbacks().member == nil && PageFallbacks().weight == 0)
    #expect(fallbacks.member == fallbacks.json && fallbacks.weight > 100)
    #expect(try Self.read(#"[{"prefix":"/"}]"#).rules.map(\.prefix) == ["/"])
  }

  @Test(
    arguments: [
      ("{}", .form), ("null", .form), ("[]", .rules(0)), ("[1]", .form), ("[{}]", .form),
      (#"["/app/"]"#, .form),
      (#"[{"prefix":1}]"#, .form), (#"[{"prefix":"/","except":"/a"}]"#, .form),
      (#"[{"prefix":"/","except":[1]}]"#, .form), (#"[{"prefix":"/","except":null}]"#, .form),
      (#"[{"prefix":""}]"#, .prefix("")), (#"[{"prefix":"/app"}]"#, .prefix("/app")),
      (#"[{"prefix":"app/"}]"#, .prefix("app/")), (#"[{"prefix":"/app?/"}]"#, .prefix("/app?/")),
      (#"[{"prefix":"/app#/"}]"#, .prefix("/app#/")), (#"[{"prefix":"/a\n/"}]"#, .prefix("/a\n/")),
      (#"[{"prefix":"https://m.example.com/"}]"#, .prefix("https://m.example.com/")),
      (#"[{"prefix":"/a/"},{"prefix":"/a/"}]"#, .twice("/a/")),
      (#"[{"prefix":"/a/"},{"prefix":"/a/b/../"}]"#, .twice("/a/")),
      (#"[{"prefix":"/","except":["a"]}]"#, .pattern("a", nil)),
      (#"[{"prefix":"/","except":["https://m.example.com/a"]}]"#, .pattern("https://m.example.com/a", nil)),
    ] as [(String, PageFallbacks.Fault)])
  func invalidFallbacksAreRefused(_ text: String, _ fault: PageFallbacks.Fault) {
    #expect(throws: fault) { try Self.read(text) }
    #expect(throws: fault) { try PageFallbacks(given: Self.json(text)) }
  }

  /// What begins with two slashes is a path as well, and so is a backslash: no prefix leads to another host.
  @Test(arguments: [
    ("//n.example.com/", "//n.example.com/"), (#"/\\n.example.com/"#, "//n.example.com/"),
    ("/.//n.example.com/", "//n.example.com/"), ("/../../", "/"), ("/%2e%2e/", "/"),
    ("/@n.example.com/", "/@n.example.com/"),
    ("/:81/", "/:81/"),
  ])
  func prefixesStayOnTheirOrigin(_ prefix: String, _ path: String) throws {
    let fallbacks = try Self.read(#"[{"prefix":"\#(prefix)"}]"#)
    #expect(fallbacks.rules.map(\.prefix) == [path])
    let urls = fallbacks.prefixes(of: try ResourceURL("https://m.example.com:8443/app/index.html?a"))
    #expect(urls.map(\.text) == ["https://m.example.com:8443\(path)"])
    #expect(urls.map(\.host) == ["m.example.com"] && urls.map { String($0.path) } == [path])
  }

  @Test func sizesAreLimited() throws {
    func rules(_ count: Int, except: Int = 0) -> String {
      let patterns = (0..<except).map { "\"/\($0)*\"" }.joined(separator: ",")
      return "["
        + (0..<count).map { #"{"prefix":"/\#($0)/","except":[\#(patterns)]}"# }.joined(separator: ",") + "]"
    }
    #expect(try Self.read(rules(4, except: 8)).rules.count == 4)
    #expect(throws: PageFallbacks.Fault.rules(5)) { try Self.read(rules(5)) }
    #expect(throws: PageFallbacks.Fault.patterns(9)) { try Self.read(rules(1, except: 9)) }
    let long = "/" + String(repeating: "a", count: 5000) + "/"
    #expect(throws: PageFallbacks.Fault.prefix(long)) { try Self.read(#"[{"prefix":"\#(long)"}]"#) }
    #expect(throws: PageFallbacks.Fault.self) { try Self.read(#"[{"prefix":"/","except":["\#(long)"]}]"#) }
    // Once it is escaped, in which form it is written and read again.
    let escaped = "/" + String(repeating: "é", count: 400)
    #expect(throws: PageFallbacks.Fault.self) { try Self.read(#"[{"prefix":"/","except":["\#(escaped)"]}]"#) }
  }

  /// A publisher's typing mistake would be a rule without what was meant.
  @Test func publishersMayNotGiveUnknownMembers() throws {
    let json = try Self.json(#"[{"prefix":"/","excpet":["/a"]}]"#)
    #expect(throws: Never.self) { try PageFallbacks(json: json) }
    #expect(throws: PageFallbacks.Fault.unknown("excpet")) { try PageFallbacks(given: json) }
  }

  @Test(arguments: [
    ("/app/", true), ("/app/runs/1", true), ("/app/runs/1?x=1", true), ("/app/%72uns", true), ("/app", false),
    ("/apple/", false), ("/", false), ("/a%70p/runs", true), ("/app/api/x", false), ("/app/%61pi/x", false),
    ("/app/api", true), ("/app/x.js", false), ("/app/runs/a.b", false), ("/app/runs?v=a.b", true),
    ("/app/runs?raw=1", false), ("/app/runs?raw=2", true), ("/app%2Fruns", false),
  ])
  func coveredPaths(_ path: String, _ covers: Bool) throws {
    let rule = try PageFallbacks.Rule(prefix: "/app/", except: ["/app/api/*", "/app/*.*", "/app/runs?raw=1"])
    #expect(rule.covers(try ResourceURL("https://m.example.com" + path)) == covers)
    #expect(rule.covers(try ResourceURL("http://[::1]:8080" + path)) == covers)
  }

  private static let text = EntryTests.text.replacing(
    ",\"md5\"", with: ",\"fallback\":[{\"except\":[\"/app/api/*\"],\"prefix\":\"/app/\"}],\"md5\"")

  @Test func fallbacksOfEntries() throws {
    let entry = try Entry(parsing: Array(Self.text.utf8))
    #expect(try entry.fallbacks == PageFallbacks([.init(prefix: "/app/", except: ["/app/api/*"])]))
    #expect(String(decoding: entry.canonicalJSON, as: UTF8.self) == Self.text)
    #expect(entry.holdsOnlyKnown)
    let headers = EntryHeaders([.xFrameOptions: try .init("DENY")])
    let content = ResourceContent(
      md5: entry.md5, sha256: entry.sha256, size: entry.size, ctype: try #require(ContentType(entry.ctype)),
      headers: headers, fallbacks: entry.fallbacks)
    #expect(
      content.others
        == JSONObject([
          .init(key: "fallback", value: entry.fallbacks.json), .init(key: "headers", value: headers.json),
        ]))
    let made = Entry(content, download: entry.download, version: 1, bundle: try BundleName("main"))
    #expect(made.fallbacks == entry.fallbacks && made.headers == headers && made.holdsOnlyKnown)
    #expect(try Entry(parsing: made.canonicalJSON) == made)
    #expect(try ResourceContent(json: content.json) == content)
    #expect(try ResourceContent(json: made.json) == content)
    // No page is lazy.
    #expect(ResourceContent.members == Set(content.json.object?.members.map(\.key) ?? []).union(["lazy"]))
  }

  /// What a later version adds to a rule is ignored but kept, and what can't be a fallback makes the entry invalid.
  @Test func fallbacksOfLaterVersionsAreKept() throws {
    for later in [
      #"{"later":1,"prefix":"/app/"}"#, #"{"except":[],"prefix":"/app/"}"#, #"{"prefix":"/x/../app/"}"#,
    ] {
      let text = Self.text.replacing(#"{"except":["/app/api/*"],"prefix":"/app/"}"#, with: later)
      let entry = try Entry(parsing: Array(text.utf8))
      #expect(entry.fallbacks.rules.map(\.prefix) == ["/app/"])
      #expect(String(decoding: entry.canonicalJSON, as: UTF8.self) == text)
      #expect(!entry.holdsOnlyKnown)
    }
    for wrong in ["[]", "{}", "null", "false", #"[{"prefix":"/app"}]"#] {
      let text = EntryTests.text.replacing(",\"md5\"", with: ",\"fallback\":\(wrong),\"md5\"")
      #expect(throws: JSONError.member("fallback")) { try Entry(parsing: Array(text.utf8)) }
      #expect(throws: JSONError.member("fallback")) {
        try ResourceContent(json: JSONValue.parse(Array(text.utf8)))
      }
    }
  }

  private static func count(_ value: JSONValue) -> Int {
    1 + (value.array ?? []).reduce(0) { $0 + count($1) }
      + (value.object?.members ?? []).reduce(0) { $0 + count($1.value) }
  }

  /// "origins stay below 64 values": with all that an entry can have.
  @Test func largestEntryIsWithinItsBudget() throws {
    let headers = EntryHeaders(
      Dictionary(uniqueKeysWithValues: try EntryHeaders.Name.allCases.map { ($0, try .init("a")) }))
    let fallbacks = try PageFallbacks(
      (0..<PageFallbacks.ruleLimit).map { rule in
        try .init(prefix: "/\(rule)/", except: (0..<PageFallbacks.patternLimit).map { "/\(rule)/\($0)*" })
      })
    let content = ResourceContent(
      FileDigest(md5: .of([]), sha256: .of([]), size: 0), ctype: try #require(ContentType("text/html")),
      headers: headers, fallbacks: fallbacks)
    let entry = Entry(content, download: "https://m.example.com/", version: 1, bundle: try BundleName("main"))
    #expect(Self.count(entry.json) == 63)
    // A change that takes all of it away names each of the two members.
    let plain = Entry(
      ResourceContent(
        FileDigest(md5: .of([]), sha256: .of([]), size: 0), ctype: content.ctype), download: entry.download,
      version: 2)
    #expect(Self.count(plain.patch(lost: plain.lost(since: entry.others))) < 64)
    #expect(plain.patch(lost: plain.lost(since: entry.others))["fallback"] == .null)
  }

  // MARK: - Rewriting

  private static func moved(_ fallback: String, of page: String, _ rules: [(String, String)]) throws -> String
  {
    let rewriting = URLRewriting(try rules.map { .init(from: try BaseURL($0.0), to: try BaseURL($0.1)) })
    let url = try ResourceURL(page)
    let new = try rewriting.apply(to: url)
    let content = ResourceContent(
      FileDigest(md5: .of([]), sha256: .of([]), size: 0), ctype: try #require(ContentType("text/html")),
      fallbacks: try read(fallback))
    let fallbacks = try rewriting.apply(to: content, of: url, to: new).fallbacks
    return String(decoding: fallbacks.json.canonical, as: UTF8.self)
  }

  @Test func rewrittenPagesTakeTheirPrefixesAlong() throws {
    let rules = #"[{"except":["/*.js","/test/api/*","/testing/*","/test?a=*"],"prefix":"/test/app/"}]"#
    let page = "https://m.example.com/test/app/index.html"
    let host = [("https://m.example.com", "https://n.example.com:8443")]
    #expect(try Self.moved(rules, of: page, host) == rules)
    let folder = [("https://m.example.com/test", "https://m.example.com")]
    #expect(
      try Self.moved(rules, of: page, folder)
        == #"[{"except":["/*.js","/api/*","/testing/*","/?a=*"],"prefix":"/app/"}]"#)
    #expect(try Self.moved(rules, of: page, [("https://x.example.com", "https://y.example.com")]) == rules)
    // The root of a host stays where it is if only a folder moves to another host.
    #expect(throws: URLRewriting.FallbackFault.origin(try ResourceURL("https://m.example.com/"))) {
      try Self.moved(
        #"[{"prefix":"/"}]"#, of: page, [("https://m.example.com/test", "https://n.example.com")])
    }
    #expect(throws: URLRewriting.FallbackFault.fallback(.twice("/app/"))) {
      try Self.moved(#"[{"prefix":"/test/app/"},{"prefix":"/app/"}]"#, of: page, folder)
    }
  }
}
