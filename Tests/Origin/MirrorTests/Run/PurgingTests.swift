import Manifests
import Store
import System
import Testing

@testable import Mirror

@Suite("Purges during runs") struct PurgingTests {
  private static let purged = PurgedBytes(
    sha256: SHA256.of(Array("secret".utf8)), at: Moment(milliseconds: 1000))

  /// The first run may have been interrupted by the purge itself, before anything was recorded.
  @Test(
    "Without the record of a run, zips and packs are removed, too",
    arguments: [
      ("xcache/shop/bundle/1-3.zip", true), ("xcache/shop/bundle/3.zip", true),
      ("xcache/shop/bundle/1-3.delta.zip", true),
      ("xcache/shop/bundle/notes.zip", false), ("xcache/shop/docs/3.zip", false),
      ("xcache/shop/configure.json", false),
      ("xcache/shop/pack/notes.xpk", false),
    ])
  func withoutARecord(path: String, goes: Bool) {
    #expect(Taint([Self.purged], lastRun: nil, now: .max).covers(path) == goes)
    #expect(!Taint([], lastRun: nil, now: .max).covers(path))
    #expect(!Taint([Self.purged], lastRun: 2000, now: .max).covers(path))
  }

  @Test("A run whose lease was ended by a purge reports that it has to be run again")
  func interrupted() throws {
    let bench = try Bench()
    let store = bench.store
    let source = FailingSource(store, after: 1) {
      for lease in (try? store.leases()) ?? [] { try? store.endLease(lease.id) }
    }
    #expect {
      _ = try bench.mirror(from: source) { _ in }
    } throws: { error in
      "\(error)".contains("the origin ended this run's lease, probably for a purge (killed); run it again")
    }
    #expect { _ = try bench.mirror(from: FailingSource(store, after: 1)) { _ in } } throws: {
      "\($0)" == "killed"
    }
    #expect(try bench.mirror { _ in }.channels.count == 1)
  }
}
