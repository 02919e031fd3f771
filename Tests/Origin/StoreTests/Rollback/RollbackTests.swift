import Manifests
import System
import Testing
import TestSupport

@testable import Store

@Suite struct RollbackTests {
  let scratch = Scratch()

  private func request(
    _ target: RollbackInput.Target, bundle: String? = nil, ifVersion: Int64? = nil
  ) throws -> RollbackInput {
    RollbackInput(
      app: try AppName("shop"), channel: .online, bundle: try bundle.map { try BundleName($0) }, to: target,
      by: Actor(name: "anna", address: "10.0.0.7"), ifVersion: ifVersion.map { ManifestVersion($0) })
  }

  private func to(_ version: Int64) -> RollbackInput.Target { .version(.number(ManifestVersion(version))) }

  @Test func conflictWithAnotherBundleIsNamedAndChangesNothing() throws {
    let store = try scratch.open()
    try store.publish("one", base: 0, set: ["a.js": Sample("a"), "b.js": Sample("b"), "c.js": Sample("c")])
    try store.publish("one", base: 1, remove: ["a.js", "b.js"])
    try store.publish("two", base: 0, set: ["a.js": Sample("A"), "b.js": Sample("B")])
    do {
      _ = try store.rollback(try request(to(1), bundle: "one"))
      Issue.record("a conflict was not detected")
    } catch StoreError.urlConflicts(let conflicts) {
      #expect(conflicts.map(\.url) == [try url("a.js"), try url("b.js")])
      #expect(conflicts.allSatisfy { $0.bundle.text == "two" })
    }
    #expect(try store.shop().version.number == 3)
    // The whole channel can be rolled back: the other bundle is removed, too.
    let outcome = try store.rollback(try request(to(1)))
    #expect(outcome.bundles.map(\.name.text) == ["one", "two"])
    #expect(outcome.bundles.map { $0.takenBack.map(\.version.number) } == [[2], [3]])
    #expect(outcome.bundles.allSatisfy { $0.takenBack.allSatisfy { $0.author == "ci" } })
  }

  @Test func urlEquivalentToAnotherBundlesIsNamed() throws {
    let store = try scratch.open()
    try store.publish("one", base: 0, set: ["a~b.js": Sample("a")])
    try store.publish("one", base: 1, remove: ["a~b.js"])
    try store.publish("two", base: 0, set: ["a%7Eb.js": Sample("a")])
    do {
      _ = try store.rollback(try request(to(1), bundle: "one"))
      Issue.record("a duplicate was not detected")
    } catch StoreError.duplicateURLs(let duplicates) {
      #expect(duplicates.map(\.url) == [try url("a~b.js")])
    }
  }

  /// Steps, and the versions they lead to, after: 1 a, 2 b, 3 c, 4 rollback to 2, 5 b published again, 6 d.
  @Test(arguments: [(1, 2), (2, 1)] as [(Int, Int64)])
  func stepsFollowRollbacks(steps: Int, version: Int64) throws {
    let store = try scratch.open()
    for (base, text) in [(0, "a"), (1, "b"), (2, "c")] as [(Int64, String)] {
      try store.publish(base: base, set: ["f.js": Sample(text)])
    }
    _ = try store.rollback(try request(.steps(1)))
    try store.publish(base: 4, set: ["f.js": Sample("d")])
    for bundle in [nil, "main"] {
      var input = try request(.steps(steps), bundle: bundle)
      input.dryRun = true
      #expect(try store.rollback(input).target.number == version)
      input.target = .steps(3)
      #expect(throws: StoreError.self) { try store.rollback(input) }
    }
  }

  @Test func refusals() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["f.js": Sample("a")])
    try store.publish(base: 1, set: ["f.js": Sample("b")])
    for input in [
      try request(to(0)), try request(to(3)), try request(to(1), bundle: "none"), try request(.steps(2)),
      try request(to(1), ifVersion: 1), try request(.version(.moment(0))),
    ] {
      #expect(throws: StoreError.self, "\(input.target)") { try store.rollback(input) }
    }
    #expect(try store.shop().version.number == 2)
    #expect(try store.rollback(try request(to(2))).release.changed == false)
    // The first token and two releases.
    #expect(try store.auditHead().row == 3)
  }

  @Test func damagedBytesAreNotRestored() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["f.js": Sample("a")])
    try store.publish(base: 1, set: ["f.js": Sample("b")])
    let digest = Sample("a").claim.sha256
    try Kernel.remove(store.folder.blob(digest))
    #expect(throws: StoreError.self) { _ = try store.open(digest) }
    do {
      _ = try store.rollback(try request(to(1)))
      Issue.record("a manifest would name bytes that are not there")
    } catch StoreError.missingBlobs(let missing) {
      #expect(missing == [digest])
    }
  }
}
