import Compression
import Manifests
import System
import Testing
import TestSupport

@Suite struct PackDamageTests {
  private static let sample = Result { try PackSample(seed: 5, count: 5, words: 12) }

  /// Whether a device gets the right manifest and files; nil if it notices the damage.
  private func outcome(_ pack: [UInt8], _ sample: PackSample, held: [SHA256: [UInt8]]? = nil) -> Bool? {
    guard
      let got = try? PackDevice.update(
        pack, from: sample.base, held: held ?? sample.held, limit: 1 << 16)
    else { return nil }
    return got.manifest == sample.new
      && got.files.allSatisfy { url, bytes in sample.files[sample.new[url]?.sha256 ?? SHA256.of([])] == bytes
      }
  }

  @Test func everyFlippedBitIsNoticedOrHarmless() throws {
    let sample = try Self.sample.get()
    let pack = try sample.pack()
    var harmless = 0
    for index in pack.indices {
      for bit in 0..<8 {
        var damaged = pack
        damaged[index] ^= 1 << UInt8(bit)
        switch outcome(damaged, sample) {
        case nil: break
        case true: harmless += 1
        default: Issue.record("bit \(bit) of byte \(index): another outcome, unnoticed")
        }
      }
    }
    // Bits of zstd frames without a meaning.
    #expect(harmless < pack.count / 4)
  }

  @Test func everyReplacedByteIsNoticedOrHarmless() throws {
    let sample = try Self.sample.get()
    let pack = try sample.pack()
    for index in pack.indices {
      for value: UInt8 in [0x00, 0x7F, 0x80, 0xFF] where pack[index] != value {
        var damaged = pack
        damaged[index] = value
        #expect(outcome(damaged, sample) != false, "byte \(index) as \(value)")
      }
    }
  }

  @Test func truncationsAndAdditionsAreNoticed() throws {
    let sample = try Self.sample.get()
    let pack = try sample.pack()
    for count in 0..<pack.count { #expect(outcome(Array(pack[..<count]), sample) == nil) }
    #expect(outcome(pack + [0], sample) == nil)
    #expect(outcome(pack, sample) == true)
  }

  @Test func wrongBasesAreNoticed() throws {
    let sample = try Self.sample.get()
    let pack = try sample.pack()
    var isNeeded = false
    for sha256 in sample.held.keys {
      var held = sample.held
      held[sha256]?.reverse()
      let outcome = outcome(pack, sample, held: held)
      #expect(outcome != false)
      if outcome == nil { isNeeded = true }
    }
    #expect(isNeeded)
  }

  @Test func packsForOtherManifestsAreRefused() throws {
    let sample = try Self.sample.get()
    let pack = try sample.pack()
    #expect(throws: PackFault.otherManifest) {
      try PackDevice.update(pack, from: sample.new, held: sample.files)
    }
    let renamed = Manifest(version: sample.base.version, items: sample.base.items.dropLast())
    #expect(throws: PackFault.otherManifest) {
      try PackDevice.update(pack, from: renamed, held: sample.files)
    }
  }

  @Test func limitsAreEnforced() throws {
    let sample = try Self.sample.get()
    let pack = try sample.pack()
    #expect(throws: PackFault.overLimit) {
      try PackDevice.update(pack, from: sample.base, held: sample.held, limit: 20)
    }
  }

  /// A valid beginning followed by random bytes, so that every part has to read some.
  @Test(arguments: 0..<8) func randomBytesAreNoticed(seed: Int) throws {
    let sample = try Self.sample.get()
    let pack = try sample.pack()
    var random = SplitMix(seed: UInt64(seed))
    for _ in 0..<300 {
      var damaged = Array(pack.prefix(Int.random(in: 0...pack.count, using: &random)))
      for _ in 0..<Int.random(in: 0..<40, using: &random) {
        damaged.append(UInt8.random(in: 0...255, using: &random))
      }
      #expect(outcome(damaged, sample) != false)
    }
  }
}
