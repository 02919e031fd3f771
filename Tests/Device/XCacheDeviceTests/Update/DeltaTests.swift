import Compression
import DeviceTestSupport
import Manifests
import System
import Testing
import Values

@testable import XCacheDevice

private let a = "https://m.test/app.1.js"
private let b = "https://m.test/app.2.js"

@Suite struct DeltaTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }

  static let old = bytes((0..<3000).map { "let a\($0) = \($0 &* 7919);" }.joined())
  static let new = bytes("/* 2 */") + old.dropLast(10) + bytes("let z = 1;")

  init() throws { bench = try Bench() }

  private static func delta() throws -> [UInt8] {
    try #require(Dcz.encodeWell(new, base: old, baseSHA256: SHA256.of(old)))
  }

  /// A device with the old file, and an update to the renamed new one.
  private func deviceBeforeUpdate() throws -> Device {
    try origin.publish([a: Self.old])
    let device = try bench.device()
    _ = try device.update()
    try origin.publish([b: Self.new])
    _ = origin.takeLog()
    return device
  }

  @Test func renamedFilesOnlyCostTheirChange() throws {
    let device = try deviceBeforeUpdate()
    let delta = try Self.delta()
    try origin.offer(delta, for: b, on: Self.old)
    let report = try device.update(force: true)
    #expect(report.kind == .patch && report.fetched == 1 && report.deltas == 1 && report.deltasFailed == 0)
    #expect(report.bytesFetched == Int64(delta.count) && delta.count < 200)
    #expect(origin.takeLog().count == 2)
    #expect(try bench.state() == bench.fresh())
  }

  /// Faults of a delta; each causes one fallback, and never a wrong file.
  enum Fault: CaseIterable { case cut, flipped, otherBase, otherResult, missing, tooLong, notDcz }

  @Test(arguments: Fault.allCases) func invalidDeltasCauseOneFallback(fault: Fault) throws {
    let device = try deviceBeforeUpdate()
    var delta = try Self.delta()
    var base = Self.old
    switch fault {
    case .cut: delta.removeLast(3)
    case .flipped: delta[delta.count - 6] ^= 0x55
    case .otherBase: delta[8] ^= 1
    case .otherResult:
      let other = Self.new + bytes("!")
      delta = try #require(Dcz.encodeWell(other, base: base, baseSHA256: SHA256.of(base)))
    case .missing: origin.fail { $0.contains("/delta/") ? .status(404) : nil }
    case .tooLong: origin.fail { $0.contains("/delta/") ? .body([UInt8](repeating: 1, count: 9000)) : nil }
    case .notDcz: delta = bytes("<html>a proxy's login page</html>")
    }
    if fault == .notDcz { base = Self.old }
    try origin.offer(delta, for: b, on: base)
    let report = try device.update(force: true)
    #expect(report.deltas == 0 && report.deltasFailed == 1 && report.fetched == 1)
    #expect(report.bytesFetched >= Int64(Self.new.count))
    #expect(try bench.state() == bench.fresh())
  }

  @Test func missingAndDamagedBasesCauseOneFallback() throws {
    for isGone in [false, true] {
      let bench = try Bench()
      try bench.origin.publish([a: Self.old])
      let device = try bench.device()
      _ = try device.update()
      let path = "\(bench.scratch.path)/device/files/https%3A%2F%2Fm.test%2Fapp.1.js"
      try Kernel.remove(path)
      if !isGone { try DurableFile.write(bytes("damaged"), to: path) }
      try bench.origin.publish([b: Self.new])
      try bench.origin.offer(try Self.delta(), for: b, on: Self.old)
      let report = try device.update(force: true)
      #expect(report.deltas == 0 && report.deltasFailed == 1)
      #expect(try bench.state() == bench.fresh())
    }
  }

  @Test func updatesWithHalfOfTheFilesMissing() throws {
    let urls = (0..<20).map { "https://m.test/f\($0).js" }
    func content(_ index: Int, _ version: Int) -> [UInt8] {
      Self.old + bytes("// file \(index), version \(version)")
    }
    try origin.publish(Dictionary(uniqueKeysWithValues: urls.enumerated().map { ($1, content($0, 1)) }))
    let device = try bench.device()
    _ = try device.update()
    for (index, url) in urls.enumerated() where index % 2 == 0 {
      let name = try ResourceURL(url)
      try Kernel.remove("\(bench.scratch.path)/device/files/\(ResourceFileName(name))")
    }
    try origin.publish(Dictionary(uniqueKeysWithValues: urls.enumerated().map { ($1, content($0, 2)) }))
    for (index, url) in urls.enumerated() {
      let base = content(index, 1)
      let delta = try #require(
        Dcz.encodeWell(content(index, 2), base: base, baseSHA256: SHA256.of(base)))
      try origin.offer(delta, for: url, on: base)
    }
    let report = try device.update(force: true)
    #expect(report.fetched == 20 && report.deltas == 10 && report.deltasFailed == 10)
    #expect(try bench.state() == bench.fresh())
  }
}
