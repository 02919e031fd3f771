import DeviceTestSupport
import Manifests
import System
import Testing
import TestSupport

@testable import XCacheDevice

/// Devices that hold nothing, and an origin with a first pack of all its files.
struct FirstPackBench {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }
  /// In the order of the pack: the page, then small files, then a large one.
  static let order = [
    "page.html", "app.a1b2c3d4.js", "chunk.11223344.js", "kept.js", "gone.js", "old-name.css", "font.bin",
  ].map { PackBench.url($0) }
  static let files = order.compactMap { PackBench.first[$0] }
  /// With so many bytes of the pack, the first block of its frame is whole: all files but the last.
  static let firstBlock = 120_000
  let pack: (url: String, bytes: [UInt8])

  init() throws {
    bench = try Bench()
    // The device compares it with the times of staged files.
    bench.clock.advance(seconds: (Clock.unixMilliseconds() - bench.clock.now) / 1000)
    try bench.origin.publish(PackBench.first)
    pack = try bench.origin.offerFirst(Self.files)
  }

  func folder(_ name: String = "device") -> String { "\(bench.scratch.path)/\(name)" }

  /// That a device has everything that one has that fetched each file by itself, and nothing more.
  func isRight(_ name: String = "device") throws -> Bool {
    origin.say("")
    let fresh = try bench.fresh()
    let left = try Scratch.contents("\(folder(name))/staging")
    return try bench.state(name) == fresh && left.isEmpty
      && Kernel.status("\(folder(name))/first.json") == nil
  }

  /// The files that a device holds, by URL; all of them with the right bytes.
  func held(_ device: Device) throws -> [String: [UInt8]] {
    var held: [String: [UInt8]] = [:]
    for file in device.heldFiles() {
      guard let path = file.path else { continue }
      let bytes = try #require(try DurableFile.read(path))
      #expect(SHA256.of(bytes).hex == file.sha256, "\(file.url)")
      held[file.url] = bytes
    }
    return held
  }

  /// Downloads since the last call, packs apart.
  func singleFiles() -> Int {
    origin.takeLog().count { $0.hasPrefix("https://cdn.test/") && !$0.hasSuffix(".xpk") }
  }

  static let unreachable = FakeOrigin.Fault.error(TransportError(.unreachable, "no way"))
}
