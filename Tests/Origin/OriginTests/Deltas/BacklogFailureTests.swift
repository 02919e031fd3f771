import Manifests
import System
import Testing

@testable import Origin
@testable import Store

/// A base that fails doesn't delay others, and is retried.
@Suite struct BacklogFailureTests {
  private static func script(_ version: Int) -> String {
    let lines = (0..<2000).map {
      "let a\($0) = '\(SHA256.of(Array("a\($0)".utf8)).hex.prefix(9))';"
    }
    return lines.joined(separator: "\n") + "let version = \(SHA256.of([UInt8(version)]).hex);"
  }

  /// An origin with four versions, and a backlog whose work fails with `fault`, which gets each pack's base.
  private static func published(
    _ lines: Locked<[String]>, _ fault: @escaping @Sendable (Int64) -> StoreError?
  ) throws -> TestOrigin {
    let isBacklog = Locked(false)
    let origin = try TestOrigin { options in
      options.log = { line in lines.withLock { $0.append(line) } }
      options.push = ReleasePush(names: { _ in [] }, push: { _ in }) { (pack, _) throws(StoreError) in
        guard isBacklog.withLock({ $0 }), let fault = fault(pack.base.number) else { return }
        throw fault
      }
    }
    for version in 1...4 { try origin.publish(["a.js": script(version)]) }
    isBacklog.withLock { $0 = true }
    return origin
  }

  private static func isDone(_ origin: TestOrigin, _ base: Int64) throws -> Bool {
    let channel = try #require(try origin.store.channels().first)
    return try origin.store.derived.isDone(channel.id, from: ManifestVersion(base), to: channel.version)
  }

  @Test func failureIsRetriedAndOthersContinue() throws {
    let fails = Locked(true)
    let attempts = Locked(0)
    let lines = Locked<[String]>([])
    let origin = try Self.published(lines) { base in
      guard base == 3 else { return nil }
      attempts.withLock { $0 += 1 }
      return fails.withLock { $0 } ? .system(SystemError("open", on: "/a/file", code: .ioError)) : nil
    }
    let service = origin.origin.api.releases.deltas
    let channel = try #require(try origin.store.channels().first)
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    // The newest base fails first, but the older ones are done.
    #expect(try PackServingTests.becomesTrue { try Self.isDone(origin, 1) && Self.isDone(origin, 2) })
    #expect(try PackServingTests.becomesTrue { service.backlog.progress(of: channel.id)?.pending == 1 })
    let state = try origin.api("GET", "apps/shop/channels/online").json["deltas"]
    #expect(
      state?["pending"]?.integer == 1 && state?["failing"]?.integer == 1, "\(String(describing: state))")
    #expect(state?["fault"]?.string?.contains("/a/file") == true)
    // Zips don't wait for work without a known end.
    #expect(!service.backlog.isBusy(channel.id, at: channel.version))
    #expect(try PackServingTests.becomesTrue { attempts.withLock { $0 } >= 2 })
    fails.withLock { $0 = false }
    #expect(try PackServingTests.becomesTrue { try Self.isDone(origin, 3) && service.backlog.pending == 0 })
    let after = try origin.api("GET", "apps/shop/channels/online").json["deltas"]
    #expect(after?["failing"]?.integer == 0 && after?["fault"]?.isNull == true)
    let errors = lines.withLock { $0.filter { $0.hasPrefix("error: deltas") } }
    #expect(errors.count == 1 && errors[0].contains("from 3 to shop online 4"), "\(errors)")
  }

  /// gc may remove a base while its pack is made.
  @Test func removedBaseIsSkipped() throws {
    let store = Locked<Store?>(nil)
    let lines = Locked<[String]>([])
    let origin = try Self.published(lines) { base in
      guard base == 3, let store = store.withLock({ $0 }) else { return nil }
      var policy = RetentionPolicy()
      (policy.versions, policy.days) = (1, 0)
      _ = try? store.collect(policy)
      return .unknownVersion(ManifestVersion(base))
    }
    store.withLock { $0 = origin.store }
    defer { store.withLock { $0 = nil } }
    let service = origin.origin.api.releases.deltas
    let channel = try #require(try origin.store.channels().first)
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    #expect(
      try PackServingTests.becomesTrue {
        try origin.store.digest(channel, at: ManifestVersion(3)) == nil && service.backlog.pending == 0
      })
    #expect(service.backlog.progress(of: channel.id)?.failing == 0)
    #expect(lines.withLock { $0.filter { $0.hasPrefix("error: ") } } == [])
  }

  /// A delta that couldn't be stored isn't recorded as not worth it.
  @Test func fullDiskIsRetried() throws {
    let origin = try TestOrigin()
    for version in 1...3 { try origin.publish(["a.js": Self.script(version)]) }
    let channel = try #require(try origin.store.channels().first)
    let service = origin.origin.api.releases.deltas
    // A preparation continues after its release.
    #expect(service.awaitPreparations())
    let sha256 = SHA256.of(Array(Self.script(3).utf8))
    for delta in try origin.store.derived.pairs(of: sha256) {
      try origin.store.derived.forgetDelta(
        at: "\(sha256.hex.prefix(2))/\(sha256.hex.dropFirst(2)).\(delta.base.hex).dcz")
    }
    for pack in try origin.store.derived.packs() {
      try Kernel.remove(origin.store.derived.packFile(pack.pack, of: channel))
    }
    // A folder has the name of the delta from version 1.
    let base = SHA256.of(Array(Self.script(1).utf8))
    let file = origin.store.derived.deltaFile(sha256, on: base)
    try? Kernel.remove(file)
    try Kernel.makeFolder(file)
    try DurableFile.write([1], to: file + "/in-the-way")
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    #expect(try PackServingTests.becomesTrue { service.backlog.progress(of: channel.id)?.failing == 1 })
    #expect(try !Self.isDone(origin, 1) && Self.isDone(origin, 2))
    try Kernel.remove(file + "/in-the-way")
    try Kernel.removeFolder(file)
    #expect(try PackServingTests.becomesTrue { try Self.isDone(origin, 1) && service.backlog.pending == 0 })
    #expect(try origin.store.derived.pairs(of: sha256).contains { $0.base == base && $0.size != nil })
  }
}
