import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// For which navigations a page answers belongs to a URL's content, like its headers.
@Suite struct PageFallbackTests {
  let scratch = Scratch()

  private func page(_ prefixes: String...) throws -> Sample {
    let rules = try prefixes.map { try PageFallbacks.Rule(prefix: $0, except: ["/api/*"]) }
    return Sample("page", type: "text/html", fallbacks: try PageFallbacks(rules))
  }

  private func entry(_ store: Store) throws -> Entry? {
    let shop = try store.shop()
    return try store.manifest(shop, at: shop.version).first?.entry
  }

  @Test func changedFallbacksAreAnotherResourceVersion() throws {
    let store = try scratch.open()
    let plain = try store.publish(base: 0, set: ["p.html": try page()])
    #expect(plain.changes.first?.entry?.others == JSONObject())
    let root = try store.publish(base: 1, set: ["p.html": try page("/")])
    #expect(root.counts == ChangeCounts(changed: 1) && root.missing.isEmpty)
    let entry = try #require(root.changes.first?.entry)
    #expect(entry.version == 2 && entry.sha256 == plain.changes.first?.entry?.sha256)
    #expect(entry.json["fallback"] == [["except": ["/api/*"], "prefix": "/"]])
    #expect(try !store.publish(base: 2, set: ["p.html": try page("/")]).changed)
    let both = try store.publish(base: 2, set: ["p.html": try page("/b/", "/a/")])
    #expect(both.changes.first?.entry?.version == 3 && both.changes.first?.lost == JSONObject())
    #expect(try !store.publish(base: 3, set: ["p.html": try page("/a/", "/b/")]).changed)
    let back = try store.publish(base: 3, set: ["p.html": try page("/")])
    #expect(back.changes == root.changes)
    let without = try store.publish(base: 4, set: ["p.html": try page()])
    #expect(without.changes.map(\.entry) == plain.changes.map(\.entry))
    #expect(without.changes.first?.lost == JSONObject([.init(key: "fallback", value: .null)]))
    let shop = try store.shop()
    for version in 1...5 {
      let version = ManifestVersion(Int64(version))
      #expect(try store.digestByQuery(shop, at: version) == store.digest(shop, at: version))
    }
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }

  /// What a release says of new bytes doesn't count those of pages of which only something else changed.
  @Test func changedFallbacksBringNoNewBytes() throws {
    let store = try scratch.open()
    let first = try store.publish(base: 0, set: ["p.html": try page(), "a.js": Sample("a")])
    #expect(first.newBytes == 5)
    let second = try store.publish(base: 1, set: ["p.html": try page("/"), "a.js": Sample("aa")])
    #expect(second.counts == ChangeCounts(changed: 2) && second.newBytes == 2)
    let back = RollbackInput(
      app: try AppName("shop"), channel: .online, bundle: nil, to: .version(.number(ManifestVersion(1))),
      by: Actor(name: "anna", address: "10.0.0.7"))
    #expect(try store.rollback(back).release.newBytes == 1)
    var rollout = try store.request([try store.change("main", base: 3, set: ["p.html": try page("/")])])
    rollout.rollout = RolloutAudience(share: 100)
    #expect(try store.commit(rollout).newBytes == 0)
    #expect(try store.log(store.shop()).map(\.newBytes) == [0, 1, 2, 5])
  }

  @Test func allReadersReturnFallbacks() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["p.html": try page()])
    try store.publish(base: 1, set: ["p.html": try page("/app/")])
    let (shop, main) = (try store.shop(), try BundleName("main"))
    let now = try page("/app/").content
    #expect(try store.contents(shop, at: shop.version).map(\.content) == [now])
    #expect(try store.entries(of: main, in: shop).entries.map(\.content) == [now])
    #expect(try store.entries(of: main, in: shop, since: ManifestVersion(1)).entries.map(\.content) == [now])
    #expect(try store.contents(of: shop, at: shop.version)[main]?[url("p.html")] == now)
    #expect(try store.entry(url("p.html"), of: shop, at: shop.version)?.fallbacks == now.fallbacks)
    let change = try #require(try store.diff(shop, from: ManifestVersion(1), to: shop.version).first)
    #expect(change.was?.fallbacks == PageFallbacks() && change.now == now)
    let step = try #require(try store.changes(shop, from: ManifestVersion(1), to: shop.version).first)
    #expect(step.entry?.fallbacks == now.fallbacks)
    let routes = try store.routes(of: shop, at: shop.version)
    #expect(routes == [PageRoutes(bundle: main, page: try url("p.html"), fallbacks: now.fallbacks)])
    #expect(try store.routes(of: shop, at: ManifestVersion(1)).isEmpty)
    let path = try #require(DownloadPlace(step.entry?.download ?? "")).path
    let resource = try #require(try store.resource(at: path))
    #expect(resource.content == now && resource.version == 2 && resource.isLive)
  }

  @Test func twoBundlesShareAURLOnlyWithEqualFallbacks() throws {
    let store = try scratch.open()
    try store.publish("one", base: 0, set: ["p.html": try page("/a/")])
    #expect(throws: Never.self) { try store.publish("two", base: 0, set: ["p.html": try page("/a/")]) }
    #expect {
      try store.publish("three", base: 0, set: ["p.html": try page("/")])
    } throws: { error in
      guard case StoreError.urlConflicts(let conflicts) = error else { return false }
      return conflicts.map(\.bundle.text).sorted() == ["one", "two"]
        && "\(error)".contains("other content, type, headers, fallbacks or \"lazy\"")
    }
    let both = try store.request([
      store.change("one", base: 1, set: ["p.html": try page()]),
      store.change("two", base: 2, set: ["p.html": try page()]),
    ])
    #expect(try store.commit(both).changed)
    #expect(try entry(store)?.fallbacks.isEmpty == true)
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }

  @Test func rollbackBringsTheResourceVersionBack() throws {
    let store = try scratch.open()
    try store.publish("one", base: 0, set: ["p.html": try page("/a/")])
    try store.publish("one", base: 1, set: ["p.html": try page("/")])
    func back(_ version: Int64, bundle: String? = nil) throws -> RollbackInput {
      RollbackInput(
        app: try AppName("shop"), channel: .online, bundle: try bundle.map { try BundleName($0) },
        to: .version(.number(ManifestVersion(version))), by: Actor(name: "anna", address: "10.0.0.7"))
    }
    #expect(try store.rollback(back(1)).release.counts == ChangeCounts(changed: 1))
    #expect(try entry(store)?.fallbacks == page("/a/").fallbacks && entry(store)?.version == 1)
    try store.publish("one", base: 3, remove: ["p.html"])
    try store.publish("two", base: 0, set: ["p.html": try page("/")])
    #expect {
      try store.rollback(back(1, bundle: "one"))
    } throws: {
      if case StoreError.urlConflicts = $0 { true } else { false }
    }
  }

  @Test func unusedFallbacksAreRemovedWithTheirResources() throws {
    let store = try scratch.open()
    for (base, prefix) in ["/a/", "/b/", "/c/", "/d/"].enumerated() {
      try store.publish(base: Int64(base), set: ["p.html": try page(prefix)])
    }
    func kept() throws -> [String] {
      try store.connections.reading { (db) throws(StoreError) in
        try db.all("SELECT fallback FROM content_type ORDER BY id") { $0.get(0, as: String.self) }
      }
    }
    #expect(try kept().count == 4)
    var policy = RetentionPolicy()
    policy.versions = 2
    #expect(try store.collect(policy).resources == 2)
    #expect(try kept() == ["c", "d"].map { "[{\"except\":[\"/api/*\"],\"prefix\":\"/\($0)/\"}]" })
    #expect(try store.checkup(deep: true).findings.isEmpty)
    #expect(try store.publish(base: 4, set: ["p.html": try page("/a/")]).changes.first?.entry?.version == 5)
  }
}
