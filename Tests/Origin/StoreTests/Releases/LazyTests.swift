import Manifests
import System
import TestSupport
import Testing
import Values

@testable import Store

/// Whether updates leave a file out belongs to a URL's content, like its headers.
@Suite struct LazyTests {
  let scratch = Scratch()

  private func chart(_ text: String = "chart", isLazy: Bool) -> Sample {
    Sample(text, type: "text/css", isLazy: isLazy)
  }

  private func entry(_ store: Store) throws -> Entry? {
    let shop = try store.shop()
    return try store.manifest(shop, at: shop.version).first?.entry
  }

  @Test func becomingLazyIsAnotherResourceVersion() throws {
    let store = try scratch.open()
    let plain = try store.publish(base: 0, set: ["a.css": chart(isLazy: false)])
    #expect(plain.changes.first?.entry?.others == JSONObject())
    let lazy = try store.publish(base: 1, set: ["a.css": chart(isLazy: true)])
    #expect(lazy.counts == ChangeCounts(changed: 1) && lazy.missing.isEmpty)
    let entry = try #require(lazy.changes.first?.entry)
    #expect(entry.version == 2 && entry.isLazy && entry.sha256 == plain.changes.first?.entry?.sha256)
    #expect(try !store.publish(base: 2, set: ["a.css": chart(isLazy: true)]).changed)
    let back = try store.publish(base: 2, set: ["a.css": chart(isLazy: false)])
    #expect(back.changes.map(\.entry) == plain.changes.map(\.entry))
    #expect(back.changes.first?.lost == JSONObject([.init(key: "lazy", value: .null)]))
    let again = try store.publish(base: 3, set: ["a.css": chart(isLazy: true)])
    #expect(again.changes == lazy.changes)
    let shop = try store.shop()
    for version in 1...4 {
      let version = ManifestVersion(Int64(version))
      #expect(try store.digestByQuery(shop, at: version) == store.digest(shop, at: version))
    }
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }

  @Test func allReadersReturnIt() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.css": chart(isLazy: false)])
    try store.publish(base: 1, set: ["a.css": chart(isLazy: true)])
    let (shop, main) = (try store.shop(), try BundleName("main"))
    let now = try chart(isLazy: true).content
    #expect(try store.contents(shop, at: shop.version).map(\.content) == [now])
    #expect(try store.entries(of: main, in: shop).entries.map(\.content) == [now])
    #expect(try store.entries(of: main, in: shop, since: ManifestVersion(1)).entries.map(\.content) == [now])
    #expect(try store.contents(of: shop, at: shop.version)[main]?[url("a.css")] == now)
    #expect(try store.entry(url("a.css"), of: shop, at: shop.version)?.isLazy == true)
    let change = try #require(try store.diff(shop, from: ManifestVersion(1), to: shop.version).first)
    #expect(change.was?.isLazy == false && change.now == now)
    let step = try #require(try store.changes(shop, from: ManifestVersion(1), to: shop.version).first)
    #expect(step.entry?.isLazy == true)
    let path = try #require(DownloadPlace(step.entry?.download ?? "")).path
    let resource = try #require(try store.resource(at: path))
    #expect(resource.content == now && resource.version == 2 && resource.isLive)
  }

  @Test func twoBundlesShareAURLOnlyIfBothAreLazy() throws {
    let store = try scratch.open()
    try store.publish("one", base: 0, set: ["a.css": chart(isLazy: true)])
    #expect(throws: Never.self) { try store.publish("two", base: 0, set: ["a.css": chart(isLazy: true)]) }
    #expect {
      try store.publish("three", base: 0, set: ["a.css": chart(isLazy: false)])
    } throws: { error in
      guard case StoreError.urlConflicts(let conflicts) = error else { return false }
      return conflicts.map(\.bundle.text).sorted() == ["one", "two"]
    }
    // One URL of two bundles counts once.
    let shop = try store.shop()
    let lazy = try store.lazyResources(of: shop, at: shop.version)
    #expect(lazy.count == 1 && lazy.bytes == 5)
    let both = try store.request([
      store.change("one", base: 1, set: ["a.css": chart(isLazy: false)]),
      store.change("two", base: 2, set: ["a.css": chart(isLazy: false)]),
    ])
    #expect(try store.commit(both).changed)
    #expect(try entry(store)?.isLazy == false)
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }

  @Test func rollbackBringsTheResourceVersionBack() throws {
    let store = try scratch.open()
    try store.publish("one", base: 0, set: ["a.css": chart(isLazy: true)])
    try store.publish("one", base: 1, set: ["a.css": chart(isLazy: false)])
    let back = RollbackInput(
      app: try AppName("shop"), channel: .online, bundle: nil, to: .version(.number(ManifestVersion(1))),
      by: Actor(name: "anna", address: "10.0.0.7"))
    #expect(try store.rollback(back).release.counts == ChangeCounts(changed: 1))
    #expect(try entry(store)?.isLazy == true && entry(store)?.version == 1)
  }

  /// A device with a manifest may lack the files that are lazy in it.
  @Test func lazyFilesAreNotSurelyHeld() throws {
    let store = try scratch.open()
    try store.publish(
      base: 0,
      set: [
        "a.css": chart("1", isLazy: true), "b.css": chart("2", isLazy: false),
        // The same bytes twice: a device holds them for the other.
        "c.css": chart("3", isLazy: true), "d.css": chart("3", isLazy: false),
      ])
    let shop = try store.shop()
    let digests = ["1", "2", "3", "4"].map { SHA256.of(Array($0.utf8)) }
    #expect(try store.held(digests, shop, at: shop.version) == Set(digests.prefix(3)))
    #expect(try store.held(digests, shop, at: shop.version, withoutLazy: true) == Set(digests[1...2]))
    let lazy = try store.lazyResources(of: shop, at: shop.version)
    #expect(lazy.count == 2 && lazy.bytes == 2)
    try store.publish(base: 1, remove: ["a.css", "c.css"])
    #expect(try store.lazyResources(of: store.shop(), at: ManifestVersion(2)).count == 0)
    #expect(try store.lazyResources(of: store.shop(), at: ManifestVersion(1)).count == 2)
  }
}
