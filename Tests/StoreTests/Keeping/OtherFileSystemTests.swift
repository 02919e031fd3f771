import Glibc
import System
import Testing

@testable import Store

/// Backups are for another disk, that is for another file system.
@Suite struct OtherFileSystemTests {
  private static let areTwo: Bool = {
    guard access("/dev/shm", W_OK) == 0 else { return false }
    return (try? Kernel.status("/dev/shm")?.device != Kernel.status("/tmp")?.device) ?? false
  }()

  @Test(.enabled(if: areTwo)) func aBackupGoesToAnotherFileSystemAndBack() throws {
    let (here, there) = (Scratch(), Scratch(in: "/tmp"))
    let store = try here.open()
    try store.publish(base: 0, set: ["a.js": Sample("a"), "b.js": Sample("b")])
    let target = there.path + "/backup"
    let report = try store.backUp(to: target)
    #expect(report.copied == 2 && report.damaged.isEmpty)
    let path = here.path + "/restored"
    _ = try Restore.restore(backup: target, to: path)
    let again = try Store(path: path)
    #expect(try again.checkup(deep: true).findings.isEmpty)
    #expect(try again.shop().digest == store.shop().digest)
  }
}
