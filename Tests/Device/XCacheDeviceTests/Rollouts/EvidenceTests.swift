import DeviceTestSupport
import System
import Testing
import TestSupport
import Values

@testable import XCacheDevice

/// What a device tells of a rollout; the rules themselves are tested by the conformance cases.
@Suite struct EvidenceTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }
  private static let page = "https://m.test/p"

  init() throws {
    bench = try Bench()
    try origin.publish([Self.page: bytes("one")])
  }

  private var notes: String { "\(bench.scratch.path)/device/rollout.json" }

  /// A device that has polled for a rollout of the second version, and the version that its pages come from: with a share of all it is the
  /// candidate. There is no control that every install id is in.
  private func device(
    share: Int = 10_000, change: (inout DeviceSettings) -> Void = { _ in },
    willChange: (@Sendable () throws(DeviceError) -> Void)? = nil
  ) throws -> Device {
    let device = try bench.device(willChange: willChange, change: change)
    _ = try device.update()
    try origin.publish([Self.page: bytes("two")])
    origin.rollOut(2, full: 1, share: share)
    _ = try device.update(force: true)
    _ = origin.takeTold()
    return device
  }

  private func opens(_ device: Device, hasFailed: Bool = false) {
    device.recordOpening(at: bench.clock.now, from: device.version, hasFailed: hasFailed)
  }

  private func told(_ device: Device) -> [JSONValue] {
    device.finishReports()
    return origin.takeTold().compactMap { $0.document["evidence"] }
  }

  private static let opened: JSONValue = ["arm": "candidate", "failed": 0, "opened": 1, "version": "2"]
  private static let failed: JSONValue = [
    "age": 0, "arm": "candidate", "failed": 1, "opened": 0, "version": "2",
  ]

  @Test func eachIsToldOnce() throws {
    let device = try device()
    #expect(device.version == "2" && device.awaitsOpening(from: "2") && !device.awaitsOpening(from: "1"))
    opens(device)
    #expect(told(device) == [Self.opened])
    #expect(!device.awaitsOpening(from: "2"))
    opens(device)
    device.recordPageFailure(at: bench.clock.now, from: "1")
    #expect(told(device) == [])
    device.recordPageFailure(at: bench.clock.now, from: "2")
    device.recordPageFailure(at: bench.clock.now, from: "2")
    _ = try device.update(force: true)
    device.tellEvidence()
    #expect(told(device) == [Self.failed])
    device.close()
    // Only the next poll of a process says that the origin is there.
    let next = try bench.device()
    next.recordStartCrash(at: bench.clock.now)
    opens(next)
    _ = try next.update(force: true)
    next.tellEvidence()
    #expect(told(next) == [])
  }

  /// Nothing is written for a page once its rollout is known.
  @Test func pagesCostNoWrite() throws {
    let device = try device()
    opens(device)
    #expect(told(device) == [Self.opened])
    try Kernel.remove(notes)
    opens(device)
    device.tellEvidence()
    #expect(try Kernel.status(notes) == nil)
    device.recordPageFailure(at: bench.clock.now, from: "2")
    #expect(try Kernel.status(notes) != nil)
  }

  @Test func offlineItWaits() throws {
    let device = try device()
    device.conditions.network = .offline
    opens(device)
    #expect(told(device) == [])
    device.conditions.network = .unmetered
    bench.clock.advance(seconds: 3 * 3600)
    device.tellEvidence()
    #expect(told(device) == [["age": 3, "arm": "candidate", "failed": 0, "opened": 1, "version": "2"]])
  }

  /// What the disk doesn't know of isn't told: the next process would tell it again.
  @Test func aFullDiskTellsNothing() throws {
    let isFull = Locked(false)
    let device = try device(willChange: { () throws(DeviceError) in
      if isFull.withLock({ $0 }) {
        throw .file(path: "", call: "write", code: Errno.noSpace.rawValue, reason: "full")
      }
    })
    isFull.withLock { $0 = true }
    opens(device)
    #expect(told(device) == [])
  }

  /// All that the first process wrote is what the second one needs.
  @Test func aCrashIsToldByTheNextProcess() throws {
    let first = try device()
    opens(first)
    #expect(told(first) == [Self.opened])
    first.close()
    let device = try bench.device()
    device.recordStartCrash(at: bench.clock.now)
    #expect(told(device) == [])
    _ = try device.update(force: true)
    device.tellEvidence()
    #expect(told(device) == [Self.failed])
  }

  @Test func aReturnIsAFailure() throws {
    let device = try device()
    let held = device.index
    device.recordEvidence(ofReturnFrom: held, hasOpened: false)
    #expect(told(device) == [])
    device.recordEvidence(ofReturnFrom: held, hasOpened: true)
    device.recordEvidence(ofReturnFrom: held, hasOpened: true)
    #expect(told(device) == [["arm": "candidate", "failed": 1, "opened": 1, "version": "2"]])
  }

  @Test func nobodyCountsWithoutAnArm() throws {
    let device = try device(share: 0)
    #expect(device.version == "1" && !device.awaitsOpening(from: "1"))
    opens(device)
    #expect(told(device) == [])
  }

  @Test func previewsTellNothing() throws {
    let device = try device { $0.isPreview = true }
    #expect(!device.awaitsOpening(from: device.version))
    opens(device)
    #expect(told(device) == [])
  }

  @Test func devicesThatWereMadeToLookAtAVersionTellNothing() throws {
    let device = try device()
    device.takeFullVersions()
    #expect(!device.awaitsOpening(from: "2"))
    device.takeCandidates()
    #expect(!device.awaitsOpening(from: "2"))
  }
}
