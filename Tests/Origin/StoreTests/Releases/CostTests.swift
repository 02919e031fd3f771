import CSQLite
import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// The cost of a release and a patch depends on the change, not on the size of the channel.
@Suite struct CostTests {
  /// SQLite's counters for one small publish and its patch.
  struct Cost {
    var statements = 0
    var fullScanSteps = 0
    var publishSteps = 0
    var patchSteps = 0
  }

  @Test func publishAndPatchReadRowsOfTheChangeOnly() throws {
    let small = try cost(resources: 200)
    let large = try cost(resources: 100_000)
    #expect(small.fullScanSteps == 0 && large.fullScanSteps == 0)
    // One of them says when the new blobs were checked.
    #expect(small.statements <= 57 && large.statements == small.statements)
    #expect(Double(large.publishSteps) <= 1.5 * Double(small.publishSteps))
    #expect(Double(large.patchSteps) <= 1.5 * Double(small.patchSteps))
    print("statements of a publish: \(small.statements)")
    print("VM steps of a publish: \(small.publishSteps) of 200, \(large.publishSteps) of 100,000 resources")
    print("VM steps of a patch: \(small.patchSteps) of 200, \(large.patchSteps) of 100,000 resources")
  }

  private func cost(resources: Int) throws -> Cost {
    let scratch = Scratch()
    let store = try scratch.open()
    let digest: (PreparedRelease) throws(StoreError) -> SHA256 = { _ in .of([]) }
    var set: [String: Sample] = [:]
    for number in 0..<resources { set["f\(number).js"] = Sample("one of \(number % 10)") }
    try store.send((0..<10).map { Sample("one of \($0)") } + [Sample("new"), Sample("newer")])
    _ = try store.commit(try store.request([try store.change("main", base: 0, set: set)]), digest: digest)
    _ = try store.commit(
      try store.request([try store.change("main", base: 1, set: ["f7.js": Sample("new")])]), digest: digest)

    var cost = Cost()
    _ = try counters(store)
    let change = try store.change(
      "main", base: 2, set: ["f7.js": Sample("newer"), "g.js": Sample("new")], remove: ["f9.js"])
    let start = Clock.monotonicNanoseconds()
    let outcome = try store.commit(try store.request([change]), digest: digest)
    let took = Clock.monotonicNanoseconds() - start
    #expect(outcome.counts == ChangeCounts(added: 1, changed: 1, removed: 1))
    let publish = try counters(store)
    cost.statements = publish.statements
    let changes = try store.changes(try store.shop(), from: ManifestVersion(1), to: ManifestVersion(3))
    #expect(changes.count == 3)
    let patch = try counters(store)
    cost.fullScanSteps = publish.fullScan + patch.fullScan
    (cost.publishSteps, cost.patchSteps) = (publish.steps, patch.steps)
    print("a publish into \(resources) resources: \(took / 1000) µs")
    return cost
  }

  /// The counters of all statements of the writing and the reading connection, since the last call.
  private func counters(_ store: Store) throws -> (statements: Int, fullScan: Int, steps: Int) {
    func ask(_ db: Database) -> (Int, Int, Int) {
      (
        db.counter(SQLITE_STMTSTATUS_RUN, reset: true),
        db.counter(SQLITE_STMTSTATUS_FULLSCAN_STEP, reset: true),
        db.counter(SQLITE_STMTSTATUS_VM_STEP, reset: true)
      )
    }
    let writing = try store.connections.writing { db in ask(db) }
    let reading = try store.connections.reading { db in ask(db) }
    return (writing.0 + reading.0, writing.1 + reading.1, writing.2 + reading.2)
  }
}
