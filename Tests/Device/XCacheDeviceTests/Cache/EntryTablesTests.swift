import DeviceTestSupport
import Manifests
import System
import Testing
import Values

@testable import XCacheDevice

/// How entries are stored in memory, and found.
@Suite struct EntryTablesTests {
  private static func item(
    _ url: String, _ text: String = "x", download: String? = nil
  ) throws -> ManifestItem {
    let (address, content) = (try ResourceURL(url), bytes(text))
    let path = DownloadPath(
      channel: try ChannelName("online"), appID: 7, manifestVersion: ManifestVersion(553), resourceVersion: 3,
      sha256: SHA256.of(content), url: address)
    let entry = Entry(
      ctype: "text/css", download: try download ?? path.url(publicURL: BaseURL("https://cdn.test/hxm")),
      md5: MD5.of(content), sha256: SHA256.of(content), size: Int64(content.count), version: 3)
    return ManifestItem(url: address, entry: entry)
  }

  private static func index(_ items: [ManifestItem]) throws -> DeviceIndex {
    let manifest = Manifest(version: ManifestVersion(1), items: items)
    return try DeviceIndex(manifest, digest: manifest.map.digest, hosts: HostList(["*"]))
  }

  @Test func entriesAreSmall() { #expect(MemoryLayout<HeldEntry>.stride <= 96) }

  /// What isn't stored is derived again exactly, whatever an origin wrote.
  @Test func entriesRoundTrip() throws {
    let long = "https://m.test/\(String(repeating: "long/", count: 60))a.css?x=1"
    var items = try [
      "https://m.test/a.css", "https://m.test/caf%C3%A9.js?v=1&w", "http://m.test:8080/", long,
    ].map {
      try Self.item($0, $0)
    }
    let made = try Self.item("https://m.test/q.js", "q").entry.download
    for (number, download) in [
      "https://cdn.test/files/style.css", "https://cdn.test/a%2Fb.css".replacing("%2F", with: "-"),
      "https://cdn.test/x/1/y/\(ResourceFileName(try ResourceURL("https://m.test/4.css")).escaped)",
      "https://cdn.test/f?x=\(made.dropFirst("https://".count))", "https://cdn.test/%41.css",
      "https://cdn.test/~a",
    ].enumerated() {
      items.append(try Self.item("https://m.test/\(number + 2).css", "\(number)", download: download))
    }
    let index = try Self.index(items)
    #expect(index.manifest == Manifest(version: ManifestVersion(1), items: items))
    for item in items {
      let entry = try #require(index.urls[item.url])
      #expect(entry.entry == item.entry)
      #expect(try CachedName(download: ResourceURL(item.entry.download)) == entry.name)
      #expect(index.names[entry.name] == item.entry.sha256)
      #expect(CachedName(file: entry.name.text) == entry.name)
      #expect(index.names.shared(entry.name) == entry.name)
    }
  }

  /// Lookups agree with a linear search.
  @Test func lookupsAgreeWithALinearSearch() throws {
    let urls = [
      "https://m.test/a", "https://m.test/%61b", "https://m.test/%7Ec", "https://m.test/%2561",
      "https://m.test/d%20e", "https://m.test/f%2Fg", "https://m.test/caf%C3%A9", "https://m.test/%%341",
      "https://m.test/h?x=%61", "https://m.test/z",
    ]
    let index = try Self.index(try urls.map { try Self.item($0, $0) })
    for asked in urls + [
      "https://m.test/ab", "https://m.test/~c", "https://m.test/%61", "https://m.test/f/g",
      "https://m.test/%41",
      "https://m.test/A", "https://m.test/café", "https://m.test/h?x=a", "https://m.test/",
      "https://a.test/z",
      "https://zz.test/", "https://m.test/d e",
    ] {
      let url = try ResourceURL(asked)
      let walk = index.entries.first { $0.url.matchKey == url.matchKey }
      #expect(index.urls[url] == walk, "\(asked)")
    }
  }

  /// The name that an origin derives from a URL, also used by another URL's download.
  @Test func nameCollisionsAreRefused() throws {
    let first = try Self.item("https://m.test/b", "b")
    for other in ["https://m.test/a", "https://m.test/c"] {
      let clash = try Self.item(other, "other", download: first.entry.download)
      #expect(throws: ManifestFault.self) { try Self.index([first, clash]) }
      let same = try Self.item(other, "b", download: first.entry.download)
      let index = try Self.index([first, same])
      #expect(index.urls[same.url]?.name == index.urls[first.url]?.name)
    }
  }

  /// Different spellings are different names.
  @Test func namesAreNotNormalised() {
    let texts = [
      "https%3A%2F%2Fm.test%2Fa.css", "https%3a%2F%2Fm.test%2Fa.css", "a.css", "%61.css", "~0123",
      "%2Fetc%2Fpasswd",
      "etc%2Fpasswd", "%", "%4", "%zz", "a b", "a%20b", "caf%C3%A9", "café", "%00", "%2E%2E", "...", "%25",
      "%2525",
    ]
    let names = texts.compactMap { CachedName(file: $0) }
    #expect(names.map(\.text) == texts)
    #expect(Set(names).count == texts.count)
    for text in ["", ".", "..", "a/b", "a\0"] { #expect(CachedName(file: text) == nil) }
  }
}
