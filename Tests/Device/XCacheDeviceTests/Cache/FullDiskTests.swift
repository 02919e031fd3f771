import DeviceTestSupport
import System
import Testing

@testable import XCacheDevice

private let kept = "https://m.test/kept.js"
private let changed = "https://m.test/changed.js"
private let twin = "https://m.test/twin.js"

/// A disk on which nothing can be written: pages get what is there, and the kill switch works.
@Suite struct FullDiskTests {
  let bench: Bench
  private let limit = ChangeLimit(.diskFull)

  init() throws {
    bench = try Bench()
    try bench.origin.publish([kept: bytes("kept"), changed: bytes("old"), twin: bytes("other")])
  }

  private func device(_ name: String = "device") throws -> Device {
    let limit = limit
    return try bench.device(name, willChange: { () throws(DeviceError) in try limit.check() })
  }

  private func fill(after changes: Int?) { limit.set(changes) }

  /// The disk gets full at any point of an update, and still is when the app starts again.
  @Test func devicesOpenAndServeWhatIsThere() throws {
    try bench.origin.publish([kept: bytes("kept"), changed: bytes("new"), twin: bytes("new")])
    let fresh = try bench.fresh()
    var (changes, isDone, versions) = (0, false, Set<String>())
    while !isDone {
      let name = "device-\(changes)"
      bench.origin.restore(to: 1)
      var device: Device? = try device(name)
      _ = try device?.update(force: true)
      bench.origin.restore(to: 2)
      fill(after: changes)
      isDone = (try? device?.update(force: true)) != nil
      device = nil
      fill(after: 0)
      let reopened = try self.device(name)
      versions.insert(reopened.version)
      #expect(try reopened.resource(for: kept)?.read() == bytes("kept"))
      // The held version's files, or none.
      for url in [changed, twin] {
        guard let read = try? reopened.resource(for: url)?.read() else { continue }
        let old = bytes(url == changed ? "old" : "other")
        #expect(read == (reopened.version == "1" ? old : bytes("new")), "\(changes) \(url)")
      }
      fill(after: nil)
      _ = try reopened.update(force: true)
      #expect(try bench.state(name) == fresh, "\(changes)")
      changes += 1
    }
    #expect(changes > 10 && versions == ["1", "2"])
  }

  /// An update was interrupted after its switch, and can't be finished.
  @Test func killSwitchWorks() throws {
    try bench.origin.publish([kept: bytes("kept"), changed: bytes("new"), twin: bytes("new")])
    var (changes, isDone, count) = (0, false, 0)
    while !isDone {
      let name = "device-\(changes)"
      bench.origin.say("")
      bench.origin.restore(to: 1)
      let device = try device(name)
      _ = try device.update(force: true)
      bench.origin.restore(to: 2)
      fill(after: changes)
      isDone = (try? device.update(force: true)) != nil
      fill(after: 0)
      bench.origin.serve(
        bytes(#"{"code":200,"data":{"version":"2","intercept":false,"bypass":[],"scripts":[]}}"#),
        at: "\(FakeOrigin.server)/policy.json?app=shop&channel=online")
      bench.origin.say(#","policy":"2""#)
      if !isDone { #expect(throws: DeviceError.self) { try device.update(force: true) } }
      if !isDone {
        #expect(!device.intercepts(kept), "\(changes)")
        count += 1
      }
      fill(after: nil)
      changes += 1
    }
    #expect(count > 5)
  }

  /// The disk was full at the first start, after these folders.
  @Test func incompleteFoldersAreUsed() throws {
    let folder = bench.settings().folder
    for name in ["files", "staging"] { try Kernel.makeFolder("\(folder)/\(name)") }
    #expect(try device().update(force: true).to == "1")
  }
}
