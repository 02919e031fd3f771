import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// The security headers of an entry belong to a URL's content, like its bytes and type.
@Suite struct HeadersTests {
  let scratch = Scratch()

  private func page(_ frames: String, _ text: String = "page") throws -> Sample {
    Sample(text, type: "text/html", headers: EntryHeaders([.xFrameOptions: try .init(frames)]))
  }

  private func entry(_ store: Store) throws -> Entry? {
    let shop = try store.shop()
    return try store.manifest(shop, at: shop.version).first?.entry
  }

  @Test func changedHeadersAreAnotherResourceVersion() throws {
    let store = try scratch.open()
    let plain = try store.publish(base: 0, set: ["p.html": Sample("page", type: "text/html")])
    let denied = try store.publish(base: 1, set: ["p.html": try page("DENY")])
    #expect(denied.counts == ChangeCounts(changed: 1) && denied.missing.isEmpty)
    let entry = try #require(denied.changes.first?.entry)
    #expect(entry.version == 2 && entry.sha256 == plain.changes.first?.entry?.sha256)
    #expect(entry.json["headers"] == ["X-Frame-Options": "DENY"])
    #expect(try !store.publish(base: 2, set: ["p.html": try page("DENY")]).changed)
    let framed = try store.publish(base: 2, set: ["p.html": try page("SAMEORIGIN")])
    #expect(framed.changes.first?.entry?.version == 3)
    let back = try store.publish(base: 3, set: ["p.html": try page("DENY")])
    #expect(back.changes == denied.changes)
    let without = try store.publish(base: 4, set: ["p.html": Sample("page", type: "text/html")])
    #expect(without.changes.map(\.entry) == plain.changes.map(\.entry))
    #expect(without.changes.first?.lost == JSONObject([.init(key: "headers", value: .null)]))
    let shop = try store.shop()
    for version in 1...5 {
      let version = ManifestVersion(Int64(version))
      #expect(try store.digestByQuery(shop, at: version) == store.digest(shop, at: version))
    }
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }

  @Test func allReadersReturnHeaders() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["p.html": Sample("page", type: "text/html")])
    try store.publish(base: 1, set: ["p.html": try page("DENY")])
    let (shop, main) = (try store.shop(), try BundleName("main"))
    let headers = try page("DENY").headers
    let now = try page("DENY").content
    #expect(try store.contents(shop, at: shop.version).map(\.content) == [now])
    #expect(try store.entries(of: main, in: shop).entries.map(\.content) == [now])
    #expect(try store.entries(of: main, in: shop, since: ManifestVersion(1)).entries.map(\.content) == [now])
    #expect(try store.contents(of: shop, at: shop.version)[main]?[url("p.html")] == now)
    let change = try #require(try store.diff(shop, from: ManifestVersion(1), to: shop.version).first)
    #expect(change.was?.headers == EntryHeaders() && change.now == now)
    let step = try #require(try store.changes(shop, from: ManifestVersion(1), to: shop.version).first)
    #expect(step.entry?.headers == headers)
    let path = try #require(DownloadPlace(step.entry?.download ?? "")).path
    let resource = try #require(try store.resource(at: path))
    #expect(resource.content == now && resource.version == 2 && resource.isLive)
  }

  @Test func twoBundlesShareAURLOnlyWithEqualHeaders() throws {
    let store = try scratch.open()
    try store.publish("one", base: 0, set: ["p.html": try page("DENY")])
    #expect(throws: Never.self) { try store.publish("two", base: 0, set: ["p.html": try page("DENY")]) }
    #expect {
      try store.publish("three", base: 0, set: ["p.html": try page("SAMEORIGIN")])
    } throws: { error in
      guard case StoreError.urlConflicts(let conflicts) = error else { return false }
      return conflicts.map(\.bundle.text).sorted() == ["one", "two"]
        && "\(error)".contains("other content, type, headers, fallbacks or \"lazy\"")
    }
    // One bundle's headers differ from those of the other: in one release both may change.
    let both = try store.request([
      store.change("one", base: 1, set: ["p.html": try page("SAMEORIGIN")]),
      store.change("two", base: 2, set: ["p.html": try page("SAMEORIGIN")]),
    ])
    #expect(try store.commit(both).changed)
    #expect(try entry(store)?.headers == page("SAMEORIGIN").headers)
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }

  @Test func rollbackRestoresHeaders() throws {
    let store = try scratch.open()
    try store.publish("one", base: 0, set: ["p.html": try page("DENY")])
    try store.publish("one", base: 1, set: ["p.html": try page("SAMEORIGIN")])
    func back(_ version: Int64, bundle: String? = nil) throws -> RollbackInput {
      RollbackInput(
        app: try AppName("shop"), channel: .online, bundle: try bundle.map { try BundleName($0) },
        to: .version(.number(ManifestVersion(version))), by: Actor(name: "anna", address: "10.0.0.7"))
    }
    #expect(try store.rollback(back(1)).release.counts == ChangeCounts(changed: 1))
    #expect(try entry(store)?.headers == page("DENY").headers && entry(store)?.version == 1)
    try store.publish("one", base: 3, remove: ["p.html"])
    try store.publish("two", base: 0, set: ["p.html": try page("SAMEORIGIN")])
    #expect {
      try store.rollback(back(1, bundle: "one"))
    } throws: {
      if case StoreError.urlConflicts = $0 { true } else { false }
    }
  }

  /// Headers of removed entries aren't kept for ever.
  @Test func unusedHeadersAreRemovedWithTheirResources() throws {
    let store = try scratch.open()
    for (base, frames) in ["a", "b", "c", "d"].enumerated() {
      try store.publish(base: Int64(base), set: ["p.html": try page(frames)])
    }
    func kept() throws -> [String] {
      try store.connections.reading { (db) throws(StoreError) in
        try db.all("SELECT headers FROM content_type ORDER BY id") { $0.get(0, as: String.self) }
      }
    }
    #expect(try kept().count == 4)
    var policy = RetentionPolicy()
    policy.versions = 2
    #expect(try store.collect(policy).resources == 2)
    #expect(try kept() == ["c", "d"].map { "{\"X-Frame-Options\":\"\($0)\"}" })
    #expect(try store.checkup(deep: true).findings.isEmpty)
    #expect(try store.publish(base: 4, set: ["p.html": try page("a")]).changes.first?.entry?.version == 5)
  }
}
