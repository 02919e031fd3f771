import Compression
import Manifests
import System

/// A file as a pack has it.
struct PackRecord: Sendable {
  /// A zstd frame without its magic number.
  let frame: [UInt8]
  /// What it is over; nil: nothing.
  let base: SHA256?
  /// Whether it is over the base with its words renamed.
  let isRenamed: Bool

  /// A file that devices hold.
  struct Base {
    let sha256: SHA256
    let bytes: [UInt8]
  }

  /// A file's delta in the dcz coding, and what it is on.
  struct Delta {
    let base: Base
    let coded: [UInt8]
  }

  /// The smallest that a few ways give; nil where none can.
  /// - Parameters:
  ///   - delta: serves as it is where renaming gains nothing.
  ///   - partner: the file that this one most likely replaces, which may be of use though no delta was worth keeping.
  init?(_ file: [UInt8], delta: Delta?, partner: Base?, _ renaming: PackRenaming) {
    let record: PackRecord?
    if let delta {
      record = Self.best(file, delta, renaming)
    } else {
      record = Self.best(file, partner, renaming)
    }
    guard let record else { return nil }
    self = record
  }

  private init(frame: [UInt8], base: SHA256?, isRenamed: Bool) {
    self.frame = frame
    self.base = base
    self.isRenamed = isRenamed
  }

  /// The delta's own frame, or one over its base renamed.
  private static func best(_ file: [UInt8], _ delta: Delta, _ renaming: PackRenaming) -> PackRecord? {
    let plain = PackFrame.frame(ofDelta: delta.coded)
    guard let renamed = renaming.applied(to: delta.base.bytes),
      let fast = PackFrame.encode(file, base: renamed, level: fastLevel),
      let plain
    else { return plain.map { PackRecord(frame: $0, base: delta.base.sha256, isRenamed: false) } }
    // A fast level is a good guess of what the best gives; where that much is left, the words aren't the matter.
    guard fast.count < plain.count + plain.count / 2 else {
      return PackRecord(frame: plain, base: delta.base.sha256, isRenamed: false)
    }
    let best = well(file, over: renamed, fast: fast)
    return best.count < plain.count
      ? PackRecord(frame: best, base: delta.base.sha256, isRenamed: true)
      : PackRecord(frame: plain, base: delta.base.sha256, isRenamed: false)
  }

  /// Over nothing, or over the file that it replaces, as it is or renamed.
  private static func best(_ file: [UInt8], _ partner: Base?, _ renaming: PackRenaming) -> PackRecord? {
    var ways: [(over: [UInt8], record: PackRecord)] = []
    func tryOver(_ bytes: [UInt8], _ base: SHA256?, isRenamed: Bool) {
      guard let frame = PackFrame.encode(file, base: bytes, level: fastLevel) else { return }
      ways.append((bytes, PackRecord(frame: frame, base: base, isRenamed: isRenamed)))
    }
    tryOver([], nil, isRenamed: false)
    if let partner, !partner.bytes.isEmpty {
      tryOver(partner.bytes, partner.sha256, isRenamed: false)
      if let renamed = renaming.applied(to: partner.bytes) {
        tryOver(renamed, partner.sha256, isRenamed: true)
      }
    }
    guard let best = ways.min(by: { $0.record.frame.count < $1.record.frame.count }) else { return nil }
    return PackRecord(
      frame: well(file, over: best.over, fast: best.record.frame), base: best.record.base,
      isRenamed: best.record.isRenamed)
  }

  /// The smaller of what a fast level gave and what one gives that fits the sizes.
  private static func well(_ file: [UInt8], over base: [UInt8], fast: [UInt8]) -> [UInt8] {
    guard let level = level(file.count, base.count, fast: fast.count),
      let frame = PackFrame.encode(file, base: base, level: level == severalWays ? nil : level)
    else { return fast }
    return frame.count < fast.count ? frame : fast
  }

  /// The level for a file, where a fast one gave so many bytes; nil: no other gives much less.
  private static func level(_ count: Int, _ base: Int, fast: Int) -> Int32? {
    if count + base <= smallPair { return severalWays }
    // Photographs, fonts and archives: what is packed already.
    if base == 0, fast > count - count / 50 { return nil }
    return count + base <= largePair ? 19 : 12
  }

  static let fastLevel: Int32 = 3
  private static let severalWays: Int32 = -1
  private static let smallPair = 256 << 10
  private static let largePair = 16 << 20
}
