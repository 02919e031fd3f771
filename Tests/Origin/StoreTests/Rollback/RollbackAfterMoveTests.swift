import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// A rollback of a bundle counts as a step of the channel, and a moved channel keeps its new URL.
@Suite struct RollbackAfterMoveTests {
  let scratch = Scratch()
  private static let movedURL = "https://two.example.com"

  private func request(_ target: RollbackInput.Target, bundle: String? = nil) throws -> RollbackInput {
    RollbackInput(
      app: try AppName("shop"), channel: .online, bundle: try bundle.map { try BundleName($0) }, to: target,
      by: Actor(name: "anna", address: ""))
  }

  private func move(_ store: Store) throws {
    _ = try store.rebase(
      RebaseInput(
        app: try AppName("shop"), channel: .online, publicURL: try BaseURL(Self.movedURL),
        by: Actor(name: "anna", address: "")))
  }

  private func downloads(_ store: Store) throws -> [String] {
    let channel = try store.shop()
    return try store.manifest(channel, at: channel.version).map(\.entry.download)
  }

  private func live(_ store: Store) throws -> [SHA256] {
    let channel = try store.shop()
    return try store.manifest(channel, at: channel.version).map(\.entry.sha256)
  }

  @Test func repeatedRollbackDoesNotRestoreTheBadRelease() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["f.js": Sample("good")])
    try store.publish(base: 1, set: ["f.js": Sample("bad")])
    _ = try store.rollback(try request(.steps(1), bundle: "main"))
    #expect(throws: StoreError.self) { try store.rollback(try request(.steps(1))) }
    #expect(try live(store) == [Sample("good").content.sha256])
    // Nor if the channel was moved in between.
    try store.publish(base: 3, set: ["f.js": Sample("worse")])
    try move(store)
    _ = try store.rollback(try request(.steps(1), bundle: "main"))
    #expect(try live(store) == [Sample("good").content.sha256])
    var input = try request(.steps(1))
    input.dryRun = true
    let target = Result { try store.rollback(input).target.number }
    #expect(throws: StoreError.self, "\(target)") { try target.get() }
  }

  @Test func contentUndoneByABundlesRollbackIsSkipped() throws {
    let store = try scratch.open()
    try store.publish("one", base: 0, set: ["a.js": Sample("good")])
    try store.publish("one", base: 1, set: ["a.js": Sample("bad")])
    try store.publish("two", base: 0, set: ["b.js": Sample("b")])
    _ = try store.rollback(try request(.steps(1), bundle: "one"))
    // Versions 2 and 3 have the bad content; 4 differs from both.
    let outcome = try store.rollback(try request(.steps(1)))
    #expect(outcome.target.number == 1)
    #expect(try live(store) == [Sample("good").content.sha256])
  }

  @Test func earlierStateIsFound() throws {
    let store = try scratch.open()
    try store.publish("one", base: 0, set: ["a.js": Sample("good")])
    try store.publish("two", base: 0, set: ["b.js": Sample("b")])
    try store.publish("one", base: 1, set: ["a.js": Sample("bad")])
    _ = try store.rollback(try request(.steps(1), bundle: "one"))
    // Version 4 equals 2, so one step back is 1.
    #expect(try store.rollback(try request(.steps(1))).target.number == 1)
  }

  @Test(arguments: [nil, "main"] as [String?]) func restoredEntriesUseTheNewURL(bundle: String?) throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("good"), "b.js": Sample("b"), "c.js": Sample("c")])
    try store.publish(base: 1, set: ["a.js": Sample("bad")], remove: ["c.js"])
    let before = try store.manifest(store.shop(), at: ManifestVersion(1)).map(\.entry)
    try move(store)
    let outcome = try store.rollback(try request(.version(.number(ManifestVersion(1))), bundle: bundle))
    #expect(outcome.release.counts == ChangeCounts(added: 1, changed: 1))
    #expect(outcome.release.changes.map { $0.entry?.download.hasPrefix(Self.movedURL) } == [true, true])
    let entries = try store.manifest(store.shop(), at: outcome.release.version).map(\.entry)
    #expect(
      entries.map(\.download)
        == before.map { $0.download.replacing("https://cdn.example.com/x", with: Self.movedURL) })
    // The same resource versions: devices with the files fetch none.
    #expect(entries.map(\.version) == before.map(\.version) && entries.map(\.sha256) == before.map(\.sha256))
    #expect(try store.checkup(deep: true).findings.isEmpty)
    // If only the public URL differed, there is nothing to roll back.
    #expect(
      try !store.rollback(try request(.version(.number(ManifestVersion(1))), bundle: bundle)).release.changed)
  }

  @Test func restoredBundlesUseTheNewURL() throws {
    let store = try scratch.open()
    try store.publish("one", base: 0, set: ["a.js": Sample("a"), "s.js": Sample("s")])
    try store.publish("two", base: 0, set: ["b.js": Sample("b"), "s.js": Sample("s")])
    try store.publish("one", base: 1, set: ["a.js": Sample("A")], remove: ["s.js"])
    try store.publish("two", base: 2, set: ["b.js": Sample("B")], remove: ["s.js"])
    try move(store)
    _ = try store.rollback(try request(.version(.number(ManifestVersion(2)))))
    #expect(try downloads(store).count == 3)
    #expect(try downloads(store).allSatisfy { $0.hasPrefix(Self.movedURL) })
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }

  @Test func publishOfOldBytesUsesTheNewURL() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("1")])
    let first = try downloads(store)
    try store.publish(base: 1, set: ["a.js": Sample("2")])
    try move(store)
    try store.publish(base: 3, set: ["a.js": Sample("1")])
    let expected = first.map { $0.replacing("https://cdn.example.com/x", with: Self.movedURL) }
    #expect(try downloads(store) == expected)
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }
}
