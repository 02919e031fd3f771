import Compression
import Manifests
import System

/// A file as contained in a pack.
struct PackRecord: Sendable {
  /// A zstd frame without its magic number.
  let frame: [UInt8]
  /// What it is coded against; nil if nothing.
  let base: SHA256?
  /// Whether the base's words were renamed first.
  let isRenamed: Bool

  /// A file that devices hold.
  struct Base {
    let sha256: SHA256
    let bytes: [UInt8]
  }

  /// A file's delta in the dcz coding, and its base.
  struct Delta {
    let base: Base
    let coded: [UInt8]
  }

  /// The smallest of several codings of a file; nil if none is possible.
  ///
  /// `delta` is used as it is if renaming gains nothing. `partner` is the file that this one most likely replaces, which
  /// may help even if no delta was worth keeping. If `isThorough` is true, a file without a delta gets the best level,
  /// otherwise the level of its plain body.
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

  /// Returns the delta's own frame, or one against its renamed base.
  private static func best(_ file: [UInt8], _ delta: Delta, _ renaming: PackRenaming) -> PackRecord? {
    guard let plain = PackFrame.frame(ofDelta: delta.coded) else { return nil }
    let unchanged = PackRecord(frame: plain, base: delta.base.sha256, isRenamed: false)
    guard let renamed = renaming.applied(to: delta.base.bytes) else { return unchanged }
    let effort = Effort(file.count + renamed.count)
    guard let guess = PackFrame.encode(file, base: renamed, level: effort.guess),
      // The delta was made at the best level: a guess far above it won't get close. For a large file, whose best level
      // takes seconds, a few percent aren't worth making a release wait.
      guess.count < (effort.isSmall ? plain.count + plain.count / 2 : plain.count - plain.count / 5)
    else { return unchanged }
    let best = effort.better(than: guess, file, over: renamed)
    if best.count >= plain.count { return unchanged }
    return PackRecord(frame: best, base: delta.base.sha256, isRenamed: true)
  }

  /// Codes a file against nothing, or against the file that it replaces, as it is or renamed.
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
    // Photographs, fonts and archives: compressed data doesn't shrink.
    if best.record.frame.count > file.count - file.count / 50 { return best.record }
    let frame = Effort(file.count + best.over.count, isThorough: isThorough).better(
      than: best.record.frame, file, over: best.over)
    return PackRecord(frame: frame, base: best.record.base, isRenamed: best.record.isRenamed)
  }

  /// The effort for a file, by the size of it and its base: a release waits for it.
  private struct Effort {
    let isSmall: Bool
    /// The level for comparing ways: with long-distance matching, which finds matches anywhere in the base, level 5
    /// misjudges little and takes a fifth of the time of level 10.
    let guess: Int32
    private let best: Int32?

    init(_ count: Int, isThorough: Bool = true) {
      isSmall = count <= 256 << 10
      guess = isSmall ? 3 : 5
      // For small files, the smallest of several levels.
      best = isThorough ? isSmall ? nil : count <= 16 << 20 ? 19 : 12 : 9
    }

    /// Returns the smaller of a guess and the best level's result, if there is something to gain.
    func better(than guess: [UInt8], _ file: [UInt8], over base: [UInt8]) -> [UInt8] {
      if !isSmall, guess.count <= Self.negligibleSize { return guess }
      guard let frame = PackFrame.encode(file, base: base, level: best), frame.count < guess.count else {
        return guess
      }
      return frame
    }

    /// For a large file that nearly equals its base, the best level takes seconds to save a few bytes.
    private static let negligibleSize = 4 << 10
  }
}
