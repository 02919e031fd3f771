import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

@Suite struct ReadingTests {
  let scratch = Scratch()
  private let long = String(repeating: "long-", count: 50) + "name.js"

  private func path(_ entry: Entry?) throws -> DownloadPath {
    let text = try #require(entry?.download.dropFirst("https://cdn.example.com/x/".count))
    let parsed = DownloadPath(parsing: Array(text.utf8).span.bytes)
    return try #require(parsed)
  }

  @Test func allDownloadURLsLeadToTheirBytes() throws {
    let store = try scratch.open()
    let first = try store.publish(base: 0, set: ["a b.js": Sample("one"), long: Sample("two")])
    let second = try store.publish(base: 1, set: ["a b.js": Sample("three"), long: Sample("four")])
    for (outcome, isLive) in [(first, false), (second, true)] {
      #expect(outcome.changes.count == 2)
      for change in outcome.changes {
        let found = try #require(try store.resource(at: try path(change.entry)))
        #expect(found.url == change.url && found.isLive == isLive)
        #expect(found.content.sha256 == change.entry?.sha256 && found.version == change.entry?.version)
      }
    }
  }

  @Test func changedDownloadPathIsUnknown() throws {
    let store = try scratch.open()
    let outcome = try store.publish(base: 0, set: ["a.js": Sample("one"), long: Sample("two")])
    for change in outcome.changes {
      let right = try path(change.entry)
      let sha256 = try #require(change.entry?.sha256)
      func other(
        channel: ChannelName = .online, app: Int64 = 1, manifest: Int64 = 1, version: Int64 = 1,
        sha256 digest: SHA256? = nil, url: ResourceURL? = nil
      ) -> DownloadPath {
        DownloadPath(
          channel: channel, appID: app, manifestVersion: ManifestVersion(manifest), resourceVersion: version,
          sha256: digest ?? sha256, url: url ?? change.url)
      }
      #expect(other() == right)
      let wrong = [
        other(channel: try ChannelName("test")), other(app: 2), other(manifest: 2), other(version: 2),
        other(sha256: .of([1])), other(url: try url("b.js")), other(url: try url(long + "x")),
      ]
      for path in wrong { #expect(try store.resource(at: path) == nil, "\(path)") }
    }
  }

  @Test func logIsNewestFirst() throws {
    let store = try scratch.open()
    try store.publish("one", base: 0, set: ["a.js": Sample("a")])
    try store.publish("two", base: 0, set: ["b.js": Sample("bb"), "c.js": Sample("c")])
    try store.publish("two", base: 2, set: ["b.js": Sample("bbb")], remove: ["c.js"])
    let shop = try store.shop()
    let log = try store.log(shop)
    #expect(log.map(\.version.number) == [3, 2, 1])
    #expect(log[0].counts == ChangeCounts(changed: 1, removed: 1) && log[0].newBytes == 3)
    #expect(log[0].resources == 2 && log[0].bytes == 4)
    #expect(log[0].author == "ci" && log[0].message == "a message" && log[0].kind == .publish)
    #expect(log[0].bundles.map(\.name.text) == ["two"])
    #expect(try store.log(shop, limit: 1, before: ManifestVersion(3)).map(\.version.number) == [2])
    let bundles = try store.bundles(of: shop)
    #expect(bundles.map(\.name.text) == ["one", "two"])
    #expect(bundles.map(\.version.number) == [1, 3] && bundles.map(\.bytes) == [1, 3])
  }

  @Test func diffHasTheContentsOfBothVersions() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a"), "b.js": Sample("b"), "d.js": Sample("d")])
    try store.publish(base: 1, set: ["a.js": Sample("a2"), "c.js": Sample("c"), "d.js": Sample("d2")])
    try store.publish(base: 2, set: ["d.js": Sample("d")], remove: ["b.js"])
    let shop = try store.shop()
    let diff = try store.diff(shop, from: ManifestVersion(1), to: ManifestVersion(3))
    #expect(
      diff == [
        ContentChange(url: try url("a.js"), was: try Sample("a").content, now: try Sample("a2").content),
        ContentChange(url: try url("b.js"), was: try Sample("b").content, now: nil),
        ContentChange(url: try url("c.js"), was: nil, now: try Sample("c").content),
      ])
    let back = try store.diff(shop, from: ManifestVersion(3), to: ManifestVersion(1))
    #expect(back == diff.map { ContentChange(url: $0.url, was: $0.now, now: $0.was) })
    for (from, to) in [(1, 9), (9, 1)] as [(Int64, Int64)] {
      #expect {
        try store.changes(shop, from: ManifestVersion(from), to: ManifestVersion(to))
      } throws: {
        if case StoreError.noVersion(ManifestVersion(9), ManifestVersion(3)) = $0 { true } else { false }
      }
    }
  }

  @Test func defaultAppDoesNotChange() throws {
    let store = try scratch.open()
    #expect(try store.defaultApp() == nil)
    try store.publish(base: 0, set: ["a.js": Sample("a")])
    var request = try store.request([try store.change("main", base: 0, set: ["a.js": Sample("a")])])
    request.app = try AppName("aaa")
    _ = try store.commit(request)
    #expect(try store.defaultApp() == AppName("shop"))
    try store.setDefaultApp(AppName("aaa"))
    #expect(try store.defaultApp() == AppName("aaa"))
    #expect(throws: StoreError.self) { try store.setDefaultApp(AppName("none")) }
    #expect(try store.channels().map(\.app.text) == ["shop", "aaa"])
  }

  @Test func unknownBundleIsEmpty() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a")])
    let none = try store.entries(of: try BundleName("none"), in: try store.shop())
    #expect(none.version == .none && none.entries.isEmpty && none.channelVersion == ManifestVersion(1))
    let unknown = try store.entries(
      of: try BundleName("main"), in: try store.shop(), since: ManifestVersion(7))
    #expect(unknown.base == nil && unknown.entries.count == 1)
  }
}
