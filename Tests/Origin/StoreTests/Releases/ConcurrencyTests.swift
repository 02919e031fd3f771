import Manifests
import System
import Testing
import TestSupport

@testable import Store

@Suite struct ConcurrencyTests {
  let scratch = Scratch()

  /// Six concurrent publishers, each with its own bundle, one file that all share, and one file of equal bytes.
  @Test func bundlesArePublishedConcurrently() async throws {
    let store = try scratch.open()
    let order = Locked<[Int64]>([])
    let (publishers, rounds) = (6, 8)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for publisher in 0..<publishers {
        group.addTask {
          var base: Int64 = 0
          for round in 0..<rounds {
            let set = ["p\(publisher).js": Sample("round \(round)"), "shared.js": Sample("shared")]
            try store.send(set.values)
            let request = try store.request([try store.change("bundle-\(publisher)", base: base, set: set)])
            let outcome = try store.commit(
              request, committed: { done in order.withLock { $0.append(done.version.number) } })
            #expect(outcome.bundles.first?.replaced == nil)
            base = outcome.version.number
            _ = try store.manifest(try store.shop(), at: outcome.version)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(order.withLock { $0 } == (1...Int64(publishers * rounds)).map { $0 })
    let shop = try store.shop()
    #expect(shop.resources == publishers + 1)
    for version in 1...Int64(publishers * rounds) {
      let version = ManifestVersion(version)
      #expect(try store.digest(shop, at: version) == store.digestByQuery(shop, at: version))
    }
  }

  @Test func bytesReleasedBetweenTwoQueriesAreNotMissing() throws {
    let store = try scratch.open()
    let same = Sample("same")
    try store.send([same])
    let survey = try store.blobs.survey([(url: url("mine.js"), content: same.content)]) {
      #expect(throws: Never.self) {
        try store.publish("other", base: 0, set: ["theirs.js": same], sends: false)
      }
    }
    #expect(survey.missing.isEmpty)
  }

  /// A publish by another client between the plan and the transaction of a release.
  private struct Meanwhile: Sendable {
    let bundle: String
    let sample: Sample
  }

  /// A store in which `meanwhile` is published once, when the first new file of a release is renamed.
  private func store(_ meanwhile: Meanwhile) throws -> Store {
    let opened = Locked<Store?>(nil)
    var options = Store.Options()
    options.disk = Disk { step, _ in
      guard step.description == "rename" else { return }
      let store = opened.withLock { store in
        defer { store = nil }
        return store
      }
      guard let store else { return }
      #expect(throws: Never.self) {
        try store.publish(meanwhile.bundle, base: 1, set: ["shared.js": meanwhile.sample], sends: false)
      }
    }
    let store = try scratch.open(options)
    try store.publish("first", base: 0, set: ["first.js": Sample("first")])
    try store.publish("first", base: 1, set: ["first.js": meanwhile.sample])
    try store.send([Sample("mine")])
    opened.withLock { $0 = store }
    return store
  }

  @Test func conflictWithAConcurrentReleaseIsRefused() throws {
    let store = try store(Meanwhile(bundle: "other", sample: Sample("theirs")))
    #expect {
      try store.publish("mine", base: 0, set: ["shared.js": Sample("mine")], sends: false)
    } throws: {
      if case StoreError.urlConflicts(let conflicts) = $0 { conflicts.count == 1 } else { false }
    }
    #expect(try store.shop().version == ManifestVersion(3))
  }

  @Test func concurrentReleaseIsNamed() throws {
    let store = try store(Meanwhile(bundle: "mine", sample: Sample("theirs")))
    let outcome = try store.publish("mine", base: 0, set: ["mine.js": Sample("mine")], sends: false)
    #expect(outcome.version == ManifestVersion(4) && outcome.previous == ManifestVersion(3))
    #expect(outcome.bundles.first?.replaced?.version == ManifestVersion(3))
    #expect(outcome.counts == ChangeCounts(added: 1, removed: 1))
  }
}
