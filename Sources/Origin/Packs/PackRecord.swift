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
  ///   - isThorough: a file without a delta gets all the effort; else as much as its plain body had.
  init?(
    _ file: [UInt8], delta: Delta?, partner: Base?, _ renaming: PackRenaming, isThorough: Bool = true
  ) {
    let record: PackRecord?
    if let delta {
      record = Self.best(file, delta, renaming)
    } else {
      record = Self.best(file, partner, renaming, isThorough: isThorough)
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
    guard let plain = PackFrame.frame(ofDelta: delta.coded) else { return nil }
    let unchanged = PackRecord(frame: plain, base: delta.base.sha256, isRenamed: false)
    guard let renamed = renaming.applied(to: delta.base.bytes) else { return unchanged }
    let effort = Effort(file.count + renamed.count)
    guard let guess = PackFrame.encode(file, base: renamed, level: effort.guess),
      // The delta was made with all effort: a guess that is far from it wouldn't come near. Of a large file, whose best
      // effort takes seconds, a few bytes in a hundred aren't worth a release's wait.
      guess.count < (effort.isSmall ? plain.count + plain.count / 2 : plain.count - plain.count / 5)
    else { return unchanged }
    let best = effort.better(than: guess, file, over: renamed)
    if best.count >= plain.count { return unchanged }
    return PackRecord(frame: best, base: delta.base.sha256, isRenamed: true)
  }

  /// Over nothing, or over the file that it replaces, as it is or renamed.
  private static func best(
    _ file: [UInt8], _ partner: Base?, _ renaming: PackRenaming, isThorough: Bool
  ) -> PackRecord? {
    var ways: [(over: [UInt8], record: PackRecord)] = []
    func tryOver(_ bytes: [UInt8], _ base: SHA256?, isRenamed: Bool) {
      let effort = Effort(file.count + bytes.count, isThorough: isThorough)
      guard let frame = PackFrame.encode(file, base: bytes, level: effort.guess) else { return }
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
    // Photographs, fonts and archives: what is packed already stays as large.
    if best.record.frame.count > file.count - file.count / 50 { return best.record }
    let frame = Effort(file.count + best.over.count, isThorough: isThorough).better(
      than: best.record.frame, file, over: best.over)
    return PackRecord(frame: frame, base: best.record.base, isRenamed: best.record.isRenamed)
  }

  /// How hard a file is tried, by the bytes of both it and what it is over: a release waits for it.
  private struct Effort {
    let isSmall: Bool
    /// The level that ways are compared at: with long-distance matching, so that a match is found wherever in the base
    /// it is, five misjudges little and takes a fifth of the time of ten.
    let guess: Int32
    private let best: Int32?

    init(_ count: Int, isThorough: Bool = true) {
      isSmall = count <= 256 << 10
      guess = isSmall ? 3 : 5
      // Of small ones, whatever of a few ways is the smallest.
      best = isThorough ? isSmall ? nil : count <= 16 << 20 ? 19 : 12 : 9
    }

    /// The smaller of a guess and what the best level gives, where there is something to win.
    func better(than guess: [UInt8], _ file: [UInt8], over base: [UInt8]) -> [UInt8] {
      if !isSmall, guess.count <= Self.nearlyNothing { return guess }
      guard let frame = PackFrame.encode(file, base: base, level: best), frame.count < guess.count else {
        return guess
      }
      return frame
    }

    /// Of a large file that is nearly its base the best level takes seconds to save a few bytes.
    private static let nearlyNothing = 4 << 10
  }
}
