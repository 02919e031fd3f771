import DeviceTestSupport
import System
import Testing
import TestSupport

@testable import XCacheDevice

@Suite struct HistoryTests {
  /// A random sequence of manifests, with devices that poll at random, lose files, have damaged files, fail to fetch
  /// and restart: in the end each has the same bytes as a new device.
  @Test(arguments: 0..<12) func devicesEndWithTheRightBytes(seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    let bench = try Bench()
    var files: [String: [UInt8]] = [:]
    var devices: [String: Device] = [:]
    for round in 0..<25 {
      change(&files, &random)
      if Int.random(in: 0..<6, using: &random) == 0 {
        let kept = Int64.random(in: 1...Int64(round + 1), using: &random)
        if round > 0 { bench.origin.forget(min(kept, Int64(round))) }
      }
      try bench.origin.publish(files)
      for name in ["a", "b", "c"] where Bool.random(using: &random) {
        let device = try devices[name] ?? bench.device(name)
        devices[name] = device
        hurt("\(bench.scratch.path)/\(name)/files", &random)
        let isBroken = Int.random(in: 0..<4, using: &random) == 0
        let victim = Int.random(in: 0..<30, using: &random)
        bench.origin.fail { isBroken && $0.contains("%252Ff\(victim)") ? .status(404) : nil }
        do {
          let report = try device.update(force: true)
          #expect(report.kept + report.missing + report.fetched + report.copied == files.count)
        } catch {
          #expect(isBroken)
        }
        bench.origin.fail(nil)
        if Bool.random(using: &random) { devices[name] = nil }
      }
    }
    let expected = try bench.fresh()
    #expect(expected.count == files.count + 1)
    for name in ["a", "b", "c"] {
      let device = try devices[name] ?? bench.device(name)
      _ = try device.update(force: true)
      _ = try device.complete()
      #expect(try bench.state(name) == expected)
    }
  }

  /// Adds, changes, renames and removes some files; contents are from a small set, so that they return.
  private func change(_ files: inout [String: [UInt8]], _ random: inout SplitMix) {
    for _ in 0..<Int.random(in: 0...6, using: &random) {
      let url = "https://m.test/f\(Int.random(in: 0..<30, using: &random))"
      switch Int.random(in: 0..<5, using: &random) {
      case 0: files[url] = nil
      case 1:
        guard let (old, content) = files.sorted(by: { $0.key < $1.key }).first else { continue }
        files[old] = nil
        files[url] = content
      default: files[url] = bytes("content \(Int.random(in: 0..<12, using: &random))")
      }
    }
  }

  /// Sometimes removes or damages a file.
  private func hurt(_ folder: String, _ random: inout SplitMix) {
    guard Int.random(in: 0..<3, using: &random) == 0,
      let name = (try? Folder.textNames(folder))?.randomElement(using: &random)
    else { return }
    if Bool.random(using: &random) {
      try? Kernel.remove("\(folder)/\(name)")
    } else {
      try? Scratch.write("damaged", to: "\(folder)/\(name)")
    }
  }
}
