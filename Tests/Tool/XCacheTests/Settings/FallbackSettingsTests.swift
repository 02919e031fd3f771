import Manifests
import Publishing
import Testing
import Values

@testable import xcache

/// The member `fallback` of a bundle in `xcache.json`.
@Suite struct FallbackSettingsTests {
  private static func rules(
    _ fallback: String, base: String? = nil, more: String = ""
  ) throws -> [BundleSource.FallbackRule] {
    let text = #"""
      {"bundles": {"main": {"dirs": ["dist"\#(more)], "baseURL": "https://m.example.com/app/", "fallback": \#(fallback)}}}
      """#
    let settings = try Settings(json: try JSONValue.parse(Array(text.utf8)), file: "xcache.json")
    return try settings.bundles[0].source(baseURL: try base.map { try BaseURL($0) }).fallbacks
  }

  @Test("Prefix and page are URLs, or paths on the base URL's host") func forms() throws {
    for (prefix, page) in [
      ("/app/", "/app/index.html"),
      ("https://m.example.com/app/", "https://M.example.com:443/app/index.html"),
    ] {
      let rules = try Self.rules(
        #"[{"prefix": "\#(prefix)", "page": "\#(page)", "except": ["/app/api/*"]}]"#)
      #expect(rules.map(\.page.text) == ["https://m.example.com/app/index.html"])
      #expect(rules.map(\.rule) == [try .init(prefix: "/app/", except: ["/app/api/*"])])
      #expect(rules.map(\.keys) == ["bundles / main / fallback / item 1"])
    }
    let moved = try Self.rules(#"[{"prefix": "/", "page": "/index.html"}]"#, base: "https://t.example.com")
    #expect(moved.map(\.page.text) == ["https://t.example.com/index.html"])
    #expect(try Self.rules("[]").isEmpty)
    let patterns = #""except": ["/*.*", "/app/", "/app/x?y=*", "/ap*/z", "/*"]"#
    #expect(
      try Self.rules("[{\"prefix\": \"/app/\", \"page\": \"/a.html\", \(patterns)}]")[0].rule.except.count
        == 5)
  }

  @Test(arguments: [
    (#"{"prefix": "/app/"}"#, "fallback should be a list: […]"),
    (
      #"[{"prefix": "/app/"}]"#,
      #"fallback / item 1 should be an object such as {"prefix": "/app/", "page": "/app/index.html"}"#
    ),
    (
      #"[{"prefix": "/app/", "pages": "/x"}]"#,
      "fallback / item 1 / pages is not a key of xcache.json; did you mean page?"
    ),
    (
      #"[{"prefix": "/app/", "exclude": ["/x"]}]"#,
      "fallback / item 1 / exclude is not a key of xcache.json; did you mean except?"
    ),
    (
      #"[], "except": ["/x"]"#,
      "except is not a key here: it belongs in an item of fallback: bundles / main / fallback / item 1 / except"
    ),
    (
      #"[{"prefix": "/app", "page": "/a.html"}]"#,
      #"fallback / item 1 / prefix: "/app" is not a path that begins and ends with /, without a query; write it like /app/"#
    ),
    (
      #"[{"prefix": "/app/?a", "page": "/a.html"}]"#,
      "fallback / item 1 / prefix: \"/app/?a\" is not a path that begins and ends with /, without a query; write it like /app/"
    ),
    (
      #"[{"prefix": "/app/#a", "page": "/a.html"}]"#,
      "fallback / item 1 / prefix: \"/app/#a\" is not a path that begins and ends with /, without a query; write it like /app/"
    ),
    (
      #"[{"prefix": "https://other.example.com/", "page": "/a.html"}]"#,
      "fallback / item 1 / prefix should be of the page's host, https://m.example.com: a page answers only routes of its own"
    ),
    (
      #"[{"prefix": "/", "page": "index.html"}]"#,
      "fallback / item 1 / page should be a URL, or a path such as /app/index.html: index.html has no scheme: write https://… or http://…"
    ),
    (
      #"[{"prefix": "/", "page": "/a.html", "except": ["api/*"]}]"#,
      #"fallback / item 1 / except: "api/*" in "except" doesn't begin with /; write a path like /app/api/*"#
    ),
    (
      #"[{"prefix": "/app/", "page": "/a.html", "except": ["/app/api/*", "/api/*"]}]"#,
      "fallback / item 1 / except should be paths below /app/, where the page answers; /api/* is none"
    ),
    (
      #"[{"prefix": "/app/", "page": "/a.html", "except": ["/app"]}]"#,
      "fallback / item 1 / except should be paths below /app/, where the page answers; /app is none"
    ),
    (
      #"[{"prefix": "/", "page": "/a.html"}, {"prefix": "/", "page": "/a.html"}]"#,
      "fallback / item 2: the prefix / appears twice"
    ),
    (
      #"[{"prefix": "/", "page": "/a.html"}, {"prefix": "/", "page": "/b.html"}]"#,
      "fallback / item 2 / prefix should be another one, because https://m.example.com/a.html answers the routes below / already"
    ),
    (
      "[" + (1...5).map { #"{"prefix": "/\#($0)/", "page": "/a.html"}"# }.joined(separator: ",") + "]",
      "fallback / item 5: a page can be the fallback of 1 to 4 prefixes, not of 5"
    ),
  ])
  func mistakes(_ fallback: String, _ message: String) {
    let error = #expect(throws: SettingsError.self) { try Self.rules(fallback) }
    #expect(error?.message == "xcache.json: bundles / main / \(message)")
  }

  @Test func keysOfABundleOutsideOne() {
    let error = #expect(throws: SettingsError.self) {
      try Settings(
        json: ["app": "shop", "fallback": [["prefix": "/", "page": "/a.html"]]], file: "xcache.json")
    }
    #expect(
      error?.message
        == "xcache.json: fallback is not a key here: it belongs in a bundle: bundles / NAME / fallback")
  }

  /// Which fallbacks are used when a command names a folder, and not its bundle.
  @Test func folderOfABundle() throws {
    let text = """
      {"bundles": {
        "main": {"dirs": ["/tmp/one", {"dir": "/tmp/two", "baseURL": "https://m.example.com/two/"}],
          "baseURL": "https://m.example.com/app/", "include": ["*.html"],
          "fallback": [{"prefix": "/app/", "page": "/app/index.html"}]},
        "other": {"dirs": ["/tmp/both"], "baseURL": "https://m.example.com/o/"},
        "third": {"dirs": ["/tmp/both", "/tmp/three"], "baseURL": "https://m.example.com/t/"}}}
      """
    let settings = try Settings(json: try JSONValue.parse(Array(text.utf8)), file: "xcache.json")
    let whole = try #require(settings.bundle(with: ["/tmp/two", "/tmp/one"], base: nil)).source()
    #expect(whole.name.text == "main" && whole.fallbacks.count == 1 && !whole.skipsFallbacks)
    #expect(whole.folders.map(\.baseURL.text) == ["https://m.example.com/two", "https://m.example.com/app"])
    #expect(whole.written.count == 1)
    // The page may be in the other folder.
    let part = try #require(settings.bundle(with: ["/tmp/one"], base: nil)).source()
    #expect(part.fallbacks.count == 1 && part.skipsFallbacks && part.written.isEmpty)
    let moved = try BaseURL("https://x.example.com")
    let elsewhere = try #require(settings.bundle(with: ["/tmp/one", "/tmp/two"], base: moved))
    #expect(try elsewhere.source(baseURL: moved).skipsFallbacks)
    #expect(settings.bundle(with: ["/tmp/three"], base: nil)?.name.text == "third")
    for folders in [["/tmp/both"], ["/tmp/one", "/tmp/three"], ["/tmp/none"]] {
      #expect(settings.bundle(with: folders, base: nil) == nil)
    }
  }

  @Test func pathsOfSeveralHosts() {
    let other = #", {"dir": "more", "baseURL": "https://cdn.example.com/"}"#
    let error = #expect(throws: SettingsError.self) {
      try Self.rules(#"[{"prefix": "/", "page": "/a.html"}]"#, more: other)
    }
    #expect(
      error?.message
        == "xcache.json: bundles / main / fallback / item 1 / page should be a URL, because the bundle's base URLs are of "
        + "several hosts")
  }
}
