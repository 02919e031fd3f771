import Glibc
import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// The process is killed at each step of a publish in turn; the state afterwards must be the old or the new one.
@Suite struct CrashTests {
  static let set = ["a.js": Sample("new a"), "b.js": Sample("new b"), "c.js": Sample("new c")]

  /// Kills the process at a given step.
  final class Trap: Sendable {
    private let stepsLeft = Locked<Int?>(nil)

    func arm(_ steps: Int) { stepsLeft.withLock { $0 = steps } }

    func step() {
      let isFatal = stepsLeft.withLock { left in
        left = left.map { $0 - 1 }
        return left == 0
      }
      if isFatal { kill(getpid(), SIGKILL) }
    }
  }

  // Three files take three steps each to be received and up to three each to be synced; then come the transaction and what follows it.
  @Test(arguments: 1...20)
  func killedPublishLeavesAConsistentState(fatal: Int) async throws {
    let scratch = Scratch()
    let data = scratch.data
    try await #require(processExitsWith: .signal(SIGKILL)) { [data = data as String, fatal = fatal as Int] in
      let trap = Trap()
      var options = Store.Options()
      options.disk = Disk { _, _ in trap.step() }
      let store = try Store(path: data, options: options)
      try store.publish(base: 0, set: ["a.js": Sample("old a"), "gone.js": Sample("old")])
      trap.arm(fatal)
      try store.send(Self.set.values)
      let request = try store.request([try store.change("main", base: 1, set: Self.set, remove: ["gone.js"])])
      _ = try store.commit(
        request,
        digest: { _ in
          trap.step()
          return .of([])
        },
        committed: { _ in trap.step() })
      kill(getpid(), SIGKILL)
    }
    // Only the last step is after the commit.
    try check(scratch, version: fatal < 20 ? 1 : 2)
  }

  private func check(_ scratch: Scratch, version: Int64) throws {
    let store = try scratch.open()
    let folder = store.folder
    #expect(try Folder.textNames(folder.temporary) == ["whole"])
    let shop = try store.shop()
    #expect(shop.version == ManifestVersion(version))
    let manifest = try store.manifest(shop, at: shop.version)
    let names = version == 1 ? ["a.js", "gone.js"] : ["a.js", "b.js", "c.js"]
    #expect(manifest.map(\.url) == (try names.map(url)))
    for (_, entry) in manifest { #expect(throws: Never.self) { _ = try store.open(entry.sha256) } }
    // The publisher, which got no answer, retries.
    let missing = try store.missing(of: Self.set.values.map(\.claim.sha256))
    try store.send(Self.set.values.filter { missing.contains($0.claim.sha256) })
    let again = try store.publish(base: 1, set: Self.set, remove: ["gone.js"], sends: false)
    #expect(again.version == ManifestVersion(2))
    #expect(try store.manifest(try store.shop(), at: again.version).count == 3)
    #expect(try store.scrub { _ in true }.isEmpty)
  }
}
