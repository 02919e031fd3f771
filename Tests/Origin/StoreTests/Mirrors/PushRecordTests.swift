import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// The record of files that `serve --cdn push` has pushed to a place.
@Suite struct PushRecordTests {
  private static let place = PushPlace(name: "s3://bucket/hxm", endpoint: "https://s3.example.com")

  private let scratch = Scratch()

  /// Makes a release whose files are pushed, and returns those that had to be.
  private func release(_ text: String, on base: Int64, _ store: Store) throws -> [String] {
    let made = Locked<PreparedRelease?>(nil)
    try store.send([Sample(text)])
    let change = try store.change("main", base: base, set: ["a.js": Sample(text)])
    _ = try store.commit(
      try store.request([change]),
      digest: { (release) throws(StoreError) in
        made.withLock { $0 = release }
        return try store.connections.reading { (db) throws(StoreError) in try db.digest(of: release) }
      })
    let release = try #require(made.withLock { $0 })
    let left = try store.unpushed(release)
    try store.notePushed(release)
    // For a first release, nothing is looked up.
    #expect(try base == 0 || store.unpushed(release).isEmpty)
    return left.map(\.url.text)
  }

  /// The recorded paths, without their common parts.
  private func recorded(_ store: Store) throws -> [String] {
    try store.pushedFiles().map { $0.path.split(separator: "/")[2...3].joined(separator: "/") }.sorted()
  }

  @Test func restoredBytesAreKnown() throws {
    let store = try scratch.open()
    try store.beginPushing(to: Self.place)
    #expect(try release("one", on: 0, store) == ["https://m.example.com/a.js"])
    #expect(try release("two", on: 1, store) == ["https://m.example.com/a.js"])
    #expect(try release("one", on: 2, store) == [])
    #expect(try recorded(store) == ["1/1", "2/2"])
    // Also in the next process.
    withExtendedLifetime(store) {}
  }

  @Test func recordsBelongToOnePlaceAndStore() throws {
    let store = try scratch.open()
    try store.beginPushing(to: Self.place)
    _ = try release("one", on: 0, store)
    try store.beginPushing(to: Self.place)
    #expect(try recorded(store) == ["1/1"])
    try store.beginPushing(to: PushPlace(name: Self.place.name, endpoint: "https://other.example.com"))
    #expect(try recorded(store) == [])
    _ = try release("two", on: 1, store)
    try store.beginPushing(to: PushPlace(name: "/srv/www", endpoint: ""))
    #expect(try recorded(store) == [] && store.pushPlace()?.name == "/srv/www")
  }

  @Test func adminCanRemoveTheRecord() throws {
    let store = try scratch.open()
    #expect(throws: StoreError.self) { try store.forget(mirror: Self.place.name) }
    try store.beginPushing(to: Self.place)
    _ = try release("one", on: 0, store)
    #expect(throws: StoreError.self) { try store.forget(mirror: "s3://bucket/other") }
    #expect(try recorded(store) == ["1/1"])
    let edition = store.changes.edition
    try store.forget(mirror: Self.place.name)
    // Offers of deltas and packs are recomputed.
    #expect(try recorded(store) == [] && store.changes.edition > edition)
  }

  /// `mirror --prune` removes what its versions don't name, and tells the origin first.
  @Test(arguments: ["s3://bucket/hxm", "s3://bucket/hxm (app shop)", "s3://bucket/hxm-copy"])
  func filesUnnamedByAMirrorAtThePlaceMayBeGone(name: String) throws {
    let store = try scratch.open()
    try store.beginPushing(to: Self.place)
    for version in 0..<4 { _ = try release("\(version)", on: Int64(version), store) }
    func register(_ versions: ClosedRange<Int64>) throws {
      let shop = try store.shop()
      try store.register(
        mirror: name,
        versions.map { ChannelVersion(app: shop.app, channel: shop.name, version: ManifestVersion($0)) })
    }
    try register(3...4)
    let isAtThePlace = !name.hasSuffix("copy")
    #expect(try recorded(store) == (isAtThePlace ? ["3/3", "4/4"] : ["1/1", "2/2", "3/3", "4/4"]))
    // Version 1's bytes are released again: nothing is pushed unless they may have been removed.
    #expect(try release("0", on: 4, store).isEmpty == !isAtThePlace)
    #expect(try recorded(store).contains("1/1"))
    // The next run names the version with them.
    try register(4...5)
    #expect(try recorded(store).contains("1/1"))
  }

  @Test func gcRemovesRecordsWithTheirResources() throws {
    let store = try scratch.open()
    try store.beginPushing(to: Self.place)
    for version in 0..<3 { _ = try release("\(version)", on: Int64(version), store) }
    var policy = RetentionPolicy()
    policy.versions = 1
    policy.days = 0
    _ = try store.collect(policy)
    #expect(try recorded(store) == ["3/3"])
  }

  @Test func restoredStoreHasNoRecords() throws {
    do {
      let store = try scratch.open()
      try store.beginPushing(to: Self.place)
      _ = try release("one", on: 0, store)
      _ = try store.backUp(to: scratch.path + "/backup")
    }
    _ = try Restore.restore(backup: scratch.path + "/backup", to: scratch.path + "/new")
    let restored = try Store(path: scratch.path + "/new")
    #expect(try restored.pushedFiles().isEmpty)
  }
}
