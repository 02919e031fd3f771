import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// Flipped bits in `xcache.db`: a short `make test-damage`, without a server.
@Suite struct DatabaseDamageTests {
  let scratch = Scratch()

  /// The rows from which devices are answered.
  private func answers(_ store: Store) throws -> [String] {
    var answers: [String] = []
    for channel in try store.channels() {
      answers.append("\(channel)")
      for version in try store.keptVersions(of: channel) {
        let manifest = try store.manifest(channel, at: version)
        answers.append("\(version) \(String(describing: try store.digest(channel, at: version)))")
        answers += manifest.map { "\($0.url) \($0.entry)" }
      }
    }
    return answers
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func flippedBitsThatChangeAnswersAreFound(seed: UInt64) throws {
    do {
      let store = try scratch.open()
      for version in 0..<6 {
        var set: [String: Sample] = [:]
        for number in 0..<20 {
          set["part\(number).js"] = Sample("\(number) of \(number % 3 == 0 ? version : 0)")
        }
        try store.publish(base: Int64(version), set: set)
      }
    }
    var secondary = Store.Options()
    secondary.isSecondary = true
    let path = scratch.data + "/xcache.db"
    let good = try answers(try Store(path: scratch.data, options: secondary))
    for ending in ["-wal", "-shm"] { try Kernel.remove(path + ending) }
    let bytes = try #require(try DurableFile.read(path))
    var random = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    var found = 0
    for _ in 0..<40 {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let at = Int(random >> 33) % bytes.count
      var damaged = bytes
      damaged[at] ^= 1 << UInt8(random >> 30 & 7)
      try DurableFile.write(damaged, to: path)
      do {
        let store = try Store(path: scratch.data, options: secondary)
        if try store.checkup(deep: true).isClean {
          #expect(try answers(store) == good, "byte \(at) of xcache.db")
        } else {
          found += 1
        }
      } catch {
        // It can't even be opened or read.
        found += 1
      }
      for ending in ["-wal", "-shm"] { try Kernel.remove(path + ending) }
    }
    #expect(found > 0)
  }
}
