import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// Source maps are kept as long as what they are of, and no longer.
@Suite struct SourceMapKeepingTests {
  private static let day: Int64 = 86_400_000
  private let scratch = Scratch()
  private let now = Locked<Int64>(1_796_040_000_000)
  private let script = Sample("the script")
  private let map = Sample(#"{"version":3,"mappings":""}"#)

  private func open() throws -> Store {
    var options = Store.Options()
    options.clock = { [now] in now.withLock { $0 } }
    return try scratch.open(options)
  }

  private func claim(_ script: Sample, _ map: Sample) -> SourceMapClaim {
    SourceMapClaim(file: script.claim.sha256, map: map.claim.sha256, size: Int64(map.bytes.count))
  }

  @discardableResult
  private func keep(_ store: Store, _ script: Sample, _ map: Sample, bundles: String? = nil) throws
    -> SourceMapOutcome
  {
    try store.send([map])
    return try store.keep(
      [claim(script, map)], of: store.shop(), bundles: bundles.flatMap { BundleGlob($0) }, by: .local)
  }

  private func maps(_ store: Store) throws -> [SHA256: SHA256] {
    try store.sourceMaps(of: [script.claim.sha256], in: store.shop())
  }

  private func isThere(_ store: Store, _ sample: Sample) throws -> Bool {
    try Kernel.status(store.folder.blob(sample.claim.sha256)) != nil
  }

  @Test func keptWhileAVersionHasTheFile() throws {
    let store = try open()
    try store.publish(base: 0, set: ["a.js": script])
    #expect(try keep(store, script, map).stored == 1)
    let again = try keep(store, script, map)
    #expect(again.stored == 0 && again.known == 1)
    now.withLock { $0 += 2 * Self.day }
    let forecast = try store.collect(dryRun: true)
    #expect(try store.collect().blobs.count == 0 && forecast.blobs.count == 0)
    #expect(try maps(store) == [script.claim.sha256: map.claim.sha256])
    #expect(try store.checkup(deep: true).findings.isEmpty)
    // Without the file, and after the time for which versions are kept.
    try store.publish(base: 1, set: ["a.js": Sample("another")])
    now.withLock { $0 += 2 * Self.day }
    var policy = RetentionPolicy()
    (policy.versions, policy.days) = (1, 0)
    let planned = try store.collect(policy, dryRun: true)
    let report = try store.collect(policy)
    #expect(report.blobs.count == planned.blobs.count && report.blobs.count == 2)
    #expect(try maps(store).isEmpty)
    #expect(try !isThere(store, map) && !isThere(store, script))
  }

  /// A map that comes before its release waits for it for a day, and no longer.
  @Test func waitsForItsRelease() throws {
    let store = try open()
    try store.publish(base: 0, set: ["b.js": Sample("another")])
    try store.send([script])
    try keep(store, script, map)
    _ = try store.collect()
    #expect(try maps(store).count == 1 && isThere(store, map))
    now.withLock { $0 += Self.day + 1 }
    let planned = try store.collect(dryRun: true)
    let report = try store.collect()
    #expect(report.blobs.count == 1 && planned.blobs.count == 1)
    #expect(try maps(store).isEmpty && !isThere(store, map))
  }

  @Test func refusals() throws {
    let store = try open()
    try store.publish(base: 0, set: ["a.js": script])
    #expect(throws: StoreError.self) {
      try store.keep([claim(script, map)], of: store.shop(), by: .local)
    }
    try store.send([map])
    let unknown = Sample("never sent")
    #expect(throws: StoreError.self) {
      try store.keep([claim(unknown, map)], of: store.shop(), by: .local)
    }
    let wrong = SourceMapClaim(file: script.claim.sha256, map: map.claim.sha256, size: 1)
    #expect(throws: StoreError.self) { try store.keep([wrong], of: store.shop(), by: .local) }
    #expect(try maps(store).isEmpty)
  }

  /// Whoever may change some bundles can't say what the scripts of the others are made of.
  @Test func otherBundlesAreLeftAlone() throws {
    let store = try open()
    try store.publish("main", base: 0, set: ["a.js": script])
    try keep(store, script, map)
    let wrong = Sample(#"{"version":3,"mappings":"","file":"wrong"}"#)
    let outcome = try keep(store, script, wrong, bundles: "help,docs-*")
    #expect(outcome.refused == 1 && outcome.stored == 0)
    #expect(try maps(store) == [script.claim.sha256: map.claim.sha256])
    #expect(try keep(store, script, wrong, bundles: "ma*").stored == 1)
    #expect(try maps(store) == [script.claim.sha256: wrong.claim.sha256])
  }

  /// Another app that releases the same script, which everybody has, doesn't get at the source text.
  @Test func otherAppsHaveNone() throws {
    let store = try open()
    try store.publish(base: 0, set: ["a.js": script])
    try keep(store, script, map)
    var request = try store.request([try store.change("main", base: 0, set: ["a.js": script])])
    request.app = try AppName("copy")
    _ = try store.commit(request)
    let copy = try store.channel(AppName("copy"), .online)
    #expect(try store.sourceMaps(of: [script.claim.sha256], in: copy).isEmpty)
    // What is promoted within the app has it.
    var promoted = try store.request([try store.change("main", base: 0, set: ["a.js": script])])
    promoted.channel = try ChannelName("stable")
    _ = try store.commit(promoted)
    let stable = try store.channel(AppName("shop"), ChannelName("stable"))
    #expect(try store.sourceMaps(of: [script.claim.sha256], in: stable).count == 1)
  }

  @Test func purgedWithItsFile() throws {
    let store = try open()
    try store.publish(base: 0, set: ["a.js": script])
    try store.publish(base: 1, set: ["a.js": Sample("another")])
    try keep(store, script, map)
    let sha256 = script.claim.sha256
    try store.forbid(sha256, reason: "a key", by: .local)
    _ = try store.erase(try store.purgePlan(sha256), reason: "a key", by: .local)
    #expect(try maps(store).isEmpty)
    _ = try store.collect()
    #expect(try !isThere(store, map))
  }

  /// The map itself, too, though no release has it.
  @Test func purgedItself() throws {
    let store = try open()
    try store.publish(base: 0, set: ["a.js": script])
    try keep(store, script, map)
    let sha256 = map.claim.sha256
    try store.forbid(sha256, reason: "a key", by: .local)
    _ = try store.erase(try store.purgePlan(sha256), reason: "a key", by: .local)
    #expect(try maps(store).isEmpty)
    #expect(throws: StoreError.self) { try keep(store, script, map) }
  }

  @Test func backupsHaveThem() throws {
    let store = try open()
    try store.publish(base: 0, set: ["a.js": script])
    try keep(store, script, map)
    #expect(try store.backUp(to: scratch.path + "/backup").copied == 2)
    _ = try Restore.restore(backup: scratch.path + "/backup", to: scratch.path + "/restored")
    let restored = try Store(path: scratch.path + "/restored")
    #expect(try maps(restored) == [script.claim.sha256: map.claim.sha256])
    let blob = try restored.open(map.claim.sha256)
    #expect(blob.size == Int64(map.bytes.count))
  }

  /// A damaged map is found, told of, and can be sent again.
  @Test func damagedOnesAreToldOf() throws {
    let store = try open()
    try store.publish(base: 0, set: ["a.js": script])
    try keep(store, script, map)
    try DurableFile.write(Array("damaged".utf8), to: store.folder.blob(map.claim.sha256), mode: 0o644)
    #expect(throws: StoreError.self) { _ = try store.openChecked(map.claim.sha256) }
    #expect(try maps(store).isEmpty)
    #expect(try store.checkup(deep: false).findings.contains { $0.code == "source-map-missing" })
    #expect(try store.missing(of: [map.claim.sha256]) == [map.claim.sha256])
    try keep(store, script, map)
    #expect(try maps(store).count == 1)
    #expect(try store.checkup(deep: true).findings.allSatisfy { $0.code != "source-map-missing" })
  }
}
