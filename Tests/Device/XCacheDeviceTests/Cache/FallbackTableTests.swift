import DeviceTestSupport
import Manifests
import System
import Testing
import Values

@testable import XCacheDevice

/// Which page answers the routes of a single-page app.
@Suite struct FallbackTableTests {
  private static let home = "https://m.test/app/index.html"

  private static func item(
    _ url: String, _ fallback: String? = nil, ctype: String = "text/html;charset=UTF-8"
  ) throws -> ManifestItem {
    let content = bytes(url)
    let members = try fallback.map { try JSONValue.parse(bytes($0)) }
    let entry = Entry(
      ctype: ctype, download: "https://cdn.test/\(SHA256.of(content).hex)", md5: MD5.of(content),
      sha256: SHA256.of(content), size: Int64(content.count), version: 1,
      others: members.map { JSONObject([.init(key: "fallback", value: $0)]) } ?? JSONObject())
    return ManifestItem(url: try ResourceURL(url), entry: entry)
  }

  private static func index(_ items: [ManifestItem]) throws -> DeviceIndex {
    let sorted = items.sorted { $0.url < $1.url }
    let manifest = Manifest(version: ManifestVersion(1), items: sorted)
    return try DeviceIndex(manifest, digest: manifest.map.digest, hosts: HostList(["m.test"]))
  }

  private static func page(_ index: DeviceIndex, _ url: String) throws -> String? {
    index.fallbacks[try ResourceURL(url)]?.url.text
  }

  @Test func mostManifestsHaveNone() throws {
    let index = try Self.index([
      Self.item(Self.home), Self.item("https://m.test/a.js", ctype: "text/javascript"),
    ])
    #expect(index.fallbacks.isEmpty)
    #expect(try Self.page(index, "https://m.test/app/runs/1") == nil)
  }

  @Test func theLongestPrefixThatCoversTheURLWins() throws {
    let top = "https://m.test/index.html"
    let docs = "https://m.test/app/docs/index.html"
    let index = try Self.index([
      Self.item(Self.home, #"[{"except":["/app/api/*"],"prefix":"/app/"}]"#),
      Self.item(docs, #"[{"except":["/app/docs/raw/*"],"prefix":"/app/docs/"}]"#),
      Self.item(top, #"[{"prefix":"/"}]"#),
    ])
    for (path, page) in [
      ("/", top), ("/x", top), ("/app", top), ("/app/", Self.home), ("/app/runs/1?x#y", Self.home),
      ("/app/docs", Self.home), ("/app/docs/", docs), ("/app/docs/a/b/", docs),
      ("/app/docs/raw/1", Self.home),
      ("/app/api/runs", top), ("/%61pp/runs", Self.home),
    ] {
      #expect(try Self.page(index, "https://m.test\(path)") == page, "\(path)")
    }
    for url in ["http://m.test/app/", "https://m.test:444/app/", "https://n.test/app/"] {
      #expect(try Self.page(index, url) == nil, "\(url)")
    }
  }

  @Test func ofTwoPagesTheFirstByURLAnswers() throws {
    let index = try Self.index([
      Self.item("https://m.test/b.html", #"[{"prefix":"/app/"}]"#),
      Self.item("https://m.test/a.html", #"[{"except":["/app/b/*"],"prefix":"/%61pp/"}]"#),
    ])
    #expect(try Self.page(index, "https://m.test/app/1") == "https://m.test/a.html")
    #expect(try Self.page(index, "https://m.test/app/b/1") == "https://m.test/b.html")
  }

  @Test func onlyHTMLAnswers() throws {
    let rule = #"[{"prefix":"/"}]"#
    for (ctype, answers) in [
      ("text/html", true), ("Text/HTML ; charset=utf-8", true), ("application/xhtml+xml", true),
      ("text/plain", false), ("text/html5", false), ("", false),
    ] {
      let index = try Self.index([Self.item(Self.home, rule, ctype: ctype)])
      #expect(try Self.page(index, "https://m.test/x") == (answers ? Self.home : nil), "\(ctype)")
    }
  }

  /// What is on the disk is the manifest as it came, so also a device that doesn't know the member has kept it.
  @Test func theStoredIndexBringsThemBack() throws {
    let owner = DeviceIndex.Owner(app: "shop", channel: "online")
    let hosts = try HostList(["m.test"])
    let rules = #"[{"except":["/app/api/*"],"later":1,"prefix":"/app/"}]"#
    let written = try Self.index([Self.item(Self.home, rules)]).rendered(for: owner)
    #expect(String(decoding: written, as: UTF8.self).contains(#""fallback":\#(rules)"#))
    let read = try #require(DeviceIndex.parse(written, hosts: hosts)).index
    #expect(try Self.page(read, "https://m.test/app/runs/1") == Self.home)
    #expect(try Self.page(read, "https://m.test/app/api/1") == nil)
    #expect(read.rendered(for: owner) == written)
  }

  /// The number of pages and rules doesn't matter for how long a look-up takes, nor does a path's depth much.
  @Test func deepPathsAreLookedUp() throws {
    let items = try (0..<200).map { try Self.item("https://m.test/\($0).html", #"[{"prefix":"/\#($0)/"}]"#) }
    let index = try Self.index(items)
    let deep = String(repeating: "a/", count: 1000)
    #expect(try Self.page(index, "https://m.test/7/\(deep)") == "https://m.test/7.html")
    #expect(try Self.page(index, "https://m.test/x/\(deep)") == nil)
  }
}
