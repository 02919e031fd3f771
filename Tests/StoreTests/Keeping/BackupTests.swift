import Glibc
import Manifests
import Platform
import Testing

@testable import Store

@Suite struct BackupTests {
  let scratch = Scratch()
  private var target: String { scratch.path + "/backup" }

  private func restored(_ name: String = "restored") throws -> Store {
    let path = scratch.path + "/" + name
    _ = try Restore.restore(backup: target, to: path)
    return try Store(path: path)
  }

  @Test func aBackupIsADataFolderThatHoldsTheSame() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a"), "b.js": Sample("b")])
    try store.publish(base: 1, set: ["a.js": Sample("a2")])
    let report = try store.backUp(to: target)
    #expect(report.copied == 3 && report.kept == 0 && report.damaged.isEmpty)
    var options = Store.Options()
    options.isBeside = true
    #expect(try Store(path: target, options: options).checkup(deep: true).findings.isEmpty)
    // Beside: the backup's own files are no hard links.
    let blob = Sample("a").claim.sha256
    let own = try #require(try Kernel.status(store.folder.blob(blob)))
    let copy = try #require(try Kernel.status(DataFolder(path: target).blob(blob)))
    #expect(own.inode != copy.inode)
    #expect(try store.leases().isEmpty)
  }

  @Test func theSecondBackupCopiesWhatIsNew() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a"), "b.js": Sample("b")])
    _ = try store.backUp(to: target)
    try store.publish(base: 1, set: ["c.js": Sample("c")])
    let report = try store.backUp(to: target)
    #expect(report.copied == 1 && report.kept == 2 && report.removed == 0)
    #expect(try restored().shop().version == ManifestVersion(2))
  }

  @Test func aRestoreKeepsTheNewestAndLeavesRoomAboveIt() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a")])
    try store.publish(base: 1, set: ["a.js": Sample("a2")])
    _ = try store.backUp(to: target)
    let again = try restored()
    let (old, new) = (try store.shop(), try again.shop())
    #expect(new.version == old.version && new.digest == old.digest)
    #expect(
      try again.manifest(new, at: new.version).map(\.entry)
        == store.manifest(old, at: old.version).map(\.entry))
    #expect(try again.originID() != store.originID())
    let next = try again.publish(base: 2, set: ["a.js": Sample("a3")])
    #expect(next.version.number >= 1002)
    #expect(try again.checkup(deep: true).findings.isEmpty)
  }

  @Test func whatIsThereIsNeverOverwritten() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a")])
    _ = try store.backUp(to: target)
    #expect(throws: StoreError.self) { _ = try Restore.restore(backup: target, to: scratch.data) }
    #expect(throws: StoreError.self) { _ = try store.backUp(to: scratch.data) }
    #expect(throws: StoreError.self) { _ = try store.backUp(to: scratch.data + "/inside") }
    let other = try Store(path: scratch.path + "/other")
    #expect(throws: StoreError.self) { _ = try other.backUp(to: target) }
    #expect(throws: StoreError.self) {
      _ = try Restore.restore(backup: scratch.path + "/none", to: scratch.path + "/x")
    }
  }

  @Test func damageAtTheSourceIsNamedAndDoesNotStopTheRest() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a"), "b.js": Sample("b")])
    try Kernel.remove(store.folder.blob(Sample("a").claim.sha256))
    let report = try store.backUp(to: target)
    #expect(report.copied == 1 && report.damaged == [Sample("a").claim.sha256])
    #expect(throws: StoreError.self) { _ = try restored() }
  }
}
