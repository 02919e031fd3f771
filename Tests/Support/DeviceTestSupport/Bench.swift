import System
import Testing
import TestSupport

@testable import XCacheDevice

/// A clock that a test sets.
package final class TestClock: Sendable {
  private let time = Locked<Int64>(1_800_000_000_000)
  package var now: Int64 { time.withLock { $0 } }
  package func advance(seconds: Int64) { time.withLock { $0 += seconds * 1000 } }
}

/// One device over a fake origin, in a scratch folder.
package struct Bench {
  package let scratch: Scratch
  package let origin: FakeOrigin
  package let clock = TestClock()

  package init(origin: FakeOrigin = FakeOrigin()) throws {
    scratch = try Scratch()
    self.origin = origin
  }

  package func settings(_ name: String = "device") -> DeviceSettings {
    var settings = DeviceSettings(
      folder: "\(scratch.path)/\(name)", server: FakeOrigin.server, app: "shop", hosts: ["*"])
    settings.retryPauses = [0, 0]
    settings.connections = 3
    return settings
  }

  package func device(
    _ name: String = "device", willChange: (@Sendable () throws(DeviceError) -> Void)? = nil,
    change: (inout DeviceSettings) -> Void = { _ in }
  ) throws -> Device {
    var settings = settings(name)
    change(&settings)
    let clock = clock
    return try Device(
      settings, transport: origin, folder: CacheFolder(settings.folder, willChange: willChange),
      now: { clock.now })
  }

  /// `files/` and `index.json` of a device.
  package func state(_ name: String = "device") throws -> [String: [UInt8]] {
    var state = try Scratch.contents("\(scratch.path)/\(name)/files")
    state["index.json"] = try DurableFile.read("\(scratch.path)/\(name)/index.json")
    return state
  }

  /// What a device that starts from nothing comes to.
  package func fresh() throws -> [String: [UInt8]] {
    let name = "fresh-\(Hex.encode(Secrets.random(4).span.bytes))"
    let update = try device(name).update()
    #expect(update.kind == .whole)
    return try state(name)
  }
}

package func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

extension Scratch {
  /// Replaces a file, and creates the folders above it.
  package static func write(_ text: String, to path: String) throws {
    try Kernel.makeFolder(DurableFile.parent(of: path))
    try DurableFile.write(Array(text.utf8), to: path)
  }
}
