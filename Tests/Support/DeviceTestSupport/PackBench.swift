import System
import Testing

@testable import XCacheDevice

/// A device at the first of two versions of a small app, whose files a bundler renames.
package struct PackBench {
  package let bench: Bench
  package var origin: FakeOrigin { bench.origin }

  package static func url(_ name: String) -> String { "https://m.test/static/\(name)" }

  /// Text that neither repeats itself nor other files'.
  package static func text(_ seed: Int, _ count: Int) -> [UInt8] {
    var state = UInt64(truncatingIfNeeded: seed &* 2_654_435_761 | 1)
    return (0..<count).map { _ in
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return UInt8(0x20 + state % 90)
    }
  }

  /// Kept, changed, renamed, gone, and one that imports what is renamed.
  package static let first: [String: [UInt8]] = [
    url("kept.js"): text(1, 3000), url("page.html"): bytes("<script src=app.a1b2c3d4.js></script>"),
    url("app.a1b2c3d4.js"): bytes("import 'chunk.11223344.js';") + text(2, 20_000),
    url("chunk.11223344.js"): text(3, 9000), url("gone.js"): text(4, 100),
    url("old-name.css"): text(5, 4000), url("font.bin"): text(6, 150_000),
  ]
  package static let second: [String: [UInt8]] = [
    url("kept.js"): text(1, 3000), url("page.html"): bytes("<script src=app.e5f6a7b8.js></script>"),
    url("app.e5f6a7b8.js"): bytes("import 'chunk.55667788.js';") + text(2, 20_000) + bytes("//2"),
    url("chunk.55667788.js"): text(3, 9000) + bytes("//new"), url("new-name.css"): text(5, 4000),
    url("font.bin"): text(7, 150_000), url("fresh-1.js"): text(8, 500), url("fresh-2.js"): text(8, 500),
    url("image.png"): text(9, 90_000), url("empty.js"): [],
  ]

  package init() throws {
    bench = try Bench()
    // The device compares it with the times of staged files.
    bench.clock.advance(seconds: (Clock.unixMilliseconds() - bench.clock.now) / 1000)
    try origin.publish(Self.first)
  }

  /// A device that holds the first version, and an origin at the second, with a pack.
  package func device(
    _ name: String = "device", willChange: (@Sendable () throws(DeviceError) -> Void)? = nil,
    change: (inout DeviceSettings) -> Void = { _ in }
  ) throws -> Device {
    origin.restore(to: 1)
    let device = try bench.device(name, willChange: willChange, change: change)
    if device.version == "0" { _ = try device.update(force: true) }
    try origin.publish(Self.second, version: 2)
    try origin.offerPack(from: 1)
    _ = origin.takeLog()
    _ = origin.takeRanges()
    return device
  }

  /// That the device holds the second version, every file right.
  package func isRight(_ name: String = "device") throws -> Bool { try bench.state(name) == bench.fresh() }

  /// Downloads since the last call, packs apart.
  package func singleFiles() -> Int {
    origin.takeLog().count { $0.hasPrefix("https://cdn.test/") && !$0.hasSuffix(".xpk") }
  }
}
