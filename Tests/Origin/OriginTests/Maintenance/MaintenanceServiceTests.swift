import Store
import System
import Testing

@testable import Origin

@Suite struct MaintenanceServiceTests {
  /// The guide says "24 h": also without gc or a restart.
  @Test func unusedUploadsAreRemovedWhileTheServerRuns() throws {
    let now = Locked<Int64>(Clock.unixMilliseconds())
    let origin = try TestOrigin(clock: { now.withLock { $0 } })
    let bytes = Array("nobody takes it".utf8)
    _ = try origin.store.receive(
      bytes.span.bytes, BlobClaim(sha256: .of(bytes), md5: .of(bytes), size: Int64(bytes.count)))
    let lines = Locked<[String]>([])
    let maintenance = MaintenanceService(
      store: origin.store, adoption: origin.origin.adoption, answers: origin.origin.builder, gc: nil,
      secondsBetweenSweeps: 1
    ) { line in lines.withLock { $0.append(line) } }
    now.withLock { $0 += 25 * 3_600_000 }
    try maintenance.start()
    defer { maintenance.finish() }
    #expect(DeltaTests.wait { (try? Folder.textNames(origin.store.folder.whole).isEmpty) == true })
    #expect(DeltaTests.wait { lines.withLock { $0.first?.hasPrefix("removed 1 files (15 bytes)") == true } })
  }
}
