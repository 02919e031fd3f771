import Manifests
import System
import Testing

@testable import Origin
@testable import Store

/// Packs that are named in answers, but have been removed.
@Suite struct PackFaultTests {
  /// The answer for a version removed by gc was made while its pack existed.
  @Test(arguments: [true, false]) func gcRemovesPacksFromAnswers(byClock: Bool) throws {
    let now = Locked<Int64>(1_763_500_000_000)
    let origin = try TestOrigin(clock: { now.withLock { $0 } })
    for version in 1...3 {
      let script = PackServingTests.old + "let version = \(version);\n"
      try origin.publish(["v\(version).js": script], remove: version > 1 ? ["v\(version - 1).js"] : [])
    }
    #expect(try PackServingTests.names(origin.restarted(), from: 2))
    now.withLock { $0 += 100 * 24 * 3_600_000 }
    if byClock {
      var policy = RetentionPolicy()
      (policy.versions, policy.days) = (1, 0)
      _ = try origin.origin.builder.collectGarbage(origin.store) { () throws(StoreError) in
        try origin.store.collect(policy)
      }
    } else {
      let report = try origin.api("POST", "gc", ["keepDays": 0, "keepVersions": 1])
      #expect(report.json["channels"]?.array?.first?["dropped"]?.array?.count == 2, "\(report.text)")
    }
    let data = try origin.ask("GET", "/configure.json?app=shop&version=2&patch=1&pack=1").json["data"]
    #expect(data?["pack"] == nil && data?["deltas"] == nil && data?["resourcemap"]?.object?.count == 1)
    #expect(try origin.store.derived.packs().isEmpty)
  }

  /// Another process found a pack damaged and removed it, or its bytes changed: no answer names it any more, open files are closed, and it
  /// is made again.
  @Test(arguments: [true, false]) func removedPackIsNotNamed(isRemoved: Bool) throws {
    let lines = Locked<[String]>([])
    let log: @Sendable (String) -> Void = { line in lines.withLock { $0.append(line) } }
    let origin = try PackServingTests.published { $0.log = log }
    let path = try #require(try PackServingTests.pack(origin)).path
    let body = try origin.ask("GET", path).body
    let builder = origin.origin.builder
    try builder.checkPacks(origin.store, log)
    #expect(try PackServingTests.names(origin, from: 1) && lines.withLock { $0.isEmpty })
    let channel = try #require(try origin.store.channels().first)
    let pack = try #require(try origin.store.derived.packs().first?.pack)
    let file = origin.store.derived.packFile(pack, of: channel)
    try flip(file)
    if isRemoved {
      var options = Store.Options()
      options.isSecondary = true
      let secondary = try Store(path: origin.folder, options: options)
      let name = try #require(PackPath(download: pack.offer(of: channel).download))
      #expect(try secondary.derived.openPack(name, of: channel.id) == nil)
      #expect(try Kernel.status(file) == nil)
    }
    #expect(try origin.ask("GET", path).status == 200)
    try builder.checkPacks(origin.store, log)
    #expect(try !PackServingTests.names(origin, from: 1) && origin.ask("GET", path).status == 404)
    let logged = lines.withLock { $0.filter { $0.contains("the pack of shop online from 1 to 2") } }
    #expect(logged.count == 1 && logged[0].contains(isRemoved ? "is gone" : "was damaged"))
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    #expect(try PackServingTests.becomesTrue { try PackServingTests.names(origin, from: 1) })
    #expect(try origin.ask("GET", path).body == body)
  }
}
