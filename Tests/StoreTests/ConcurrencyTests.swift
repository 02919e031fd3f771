import Manifests
import Platform
import Testing

@testable import Store

@Suite struct ConcurrencyTests {
  let scratch = Scratch()

  /// Six publishers at once, each with a bundle of its own, one file that all share, and one file of the same bytes.
  @Test func bundlesArePublishedAtTheSameTime() async throws {
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
}
