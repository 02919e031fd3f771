import Glibc
import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// The process is killed before a step of gc, backup or rollback; the state it leaves must be consistent.
///
/// A few steps are tried by default, 30 of each with XCACHE_KILLS=30 (`make kills`).
@Suite struct KillTests {
  /// The steps before which the process is killed, spread over all of them.
  static let steps: [Int] = {
    let wanted = getenv("XCACHE_KILLS").flatMap { Int(String(cString: $0)) } ?? 5
    let maxCount = 30
    return (1...maxCount).filter { wanted >= maxCount || $0 % (maxCount / max(1, wanted)) == 0 }
  }()

  /// Thirty releases, each with a file of its own.
  private static func fill(_ path: String) throws -> Store {
    let store = try Store(path: path)
    for version in 0..<30 {
      try store.publish(
        base: Int64(version), set: ["a.js": Sample("a\(version)"), "b\(version).js": Sample("b\(version)")])
    }
    return store
  }

  private static func killing(at step: Int, _ name: String) -> Disk {
    let left = Locked(step)
    return Disk { (what, _) in
      guard "\(what)" == name || "\(what)" == "unlink" else { return }
      let isFatal = left.withLock { left in
        left -= 1
        return left == 0
      }
      if isFatal { kill(getpid(), SIGKILL) }
    }
  }

  @Test(arguments: steps)
  func gc(step: Int) async throws {
    let scratch = Scratch()
    try await #require(processExitsWith: .signal(SIGKILL)) {
      [data = scratch.data as String, step = step as Int] in
      _ = try Self.fill(data)
      var options = Store.Options()
      options.disk = Self.killing(at: step, "gc")
      var policy = RetentionPolicy()
      policy.versions = 2
      _ = try Store(path: data, options: options).collect(policy)
      kill(getpid(), SIGKILL)
    }
    let store = try scratch.open()
    #expect(try store.checkup(deep: true).isClean)
    let kept = try store.keptVersions(of: store.shop()).count
    #expect(kept == 30 || kept == 2, "releases of a channel are removed together")
    var policy = RetentionPolicy()
    policy.versions = 2
    _ = try store.collect(policy)
    // a28, a29 and b0 to b29: everything that two versions name.
    #expect(try store.blobs.files().count == 32)
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }

  @Test(arguments: steps)
  func backup(step: Int) async throws {
    let scratch = Scratch()
    let target = scratch.path + "/backup"
    try await #require(processExitsWith: .signal(SIGKILL)) {
      [data = scratch.data as String, target = target as String, step = step as Int] in
      _ = try Self.fill(data).backUp(to: target)
      var options = Store.Options()
      options.disk = Self.killing(at: step * 3, "backup")
      let store = try Store(path: data, options: options)
      for version in 30..<60 {
        try store.publish(base: Int64(version), set: ["a.js": Sample("a\(version)")])
      }
      _ = try store.backUp(to: target)
      kill(getpid(), SIGKILL)
    }
    let store = try scratch.open()
    #expect(try store.checkup(deep: true).isClean)
    // The backup is the previous or the new one, complete.
    let restored = scratch.path + "/restored"
    _ = try Restore.restore(backup: target, to: restored)
    let again = try Store(path: restored)
    #expect(try again.checkup(deep: true).findings.isEmpty)
    #expect([30, 60].contains(try again.shop().version.number))
    #expect(try !store.backUp(to: target).damaged.contains { _ in true })
  }

  /// Two bundles are rolled back together; the process ends before one of the six steps, in the transaction or just after it.
  @Test(arguments: steps)
  func rollback(step: Int) async throws {
    let scratch = Scratch()
    try await #require(processExitsWith: .signal(SIGKILL)) {
      [data = scratch.data as String, step = step as Int] in
      _ = try Self.fill(data)
      var options = Store.Options()
      options.disk = Self.killing(at: step % 6 + 1, "rollback")
      let store = try Store(path: data, options: options)
      try store.publish("other", base: 0, set: ["c.js": Sample("c"), "d.js": Sample("d")])
      _ = try store.rollback(
        RollbackInput(
          app: try AppName("shop"), channel: .online,
          to: .version(.number(ManifestVersion(Int64(30 - step % 29)))), by: .local))
      kill(getpid(), SIGKILL)
    }
    let store = try scratch.open()
    #expect(try store.checkup(deep: true).findings.isEmpty)
    let shop = try store.shop()
    // All or nothing: with its release, its rows, its counts and its audit row.
    #expect(shop.version.number == (step % 6 == 5 ? 32 : 31))
    // The first row is that of the folder's first token.
    #expect(try store.auditHead().row == shop.version.number + 1)
    #expect(try store.verifyAudit().0 == nil)
    // And now it succeeds.
    let again = try store.rollback(
      RollbackInput(
        app: shop.app, channel: shop.name, to: .version(.number(ManifestVersion(1))), by: .local))
    #expect(again.release.changed && again.release.version.number == shop.version.number + 1)
    #expect(
      try store.manifest(shop, at: again.release.version).map(\.entry)
        == store.manifest(shop, at: ManifestVersion(1)).map(\.entry))
  }
}
