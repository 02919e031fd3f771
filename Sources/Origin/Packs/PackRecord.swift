import Compression
import Manifests
import System

/// A file as a pack has it.
struct PackRecord: Sendable {
  /// A zstd frame without its magic number.
  let frame: [UInt8]
  /// Whether it is over the base with its words renamed.
  let isRenamed: Bool

  /// The smallest that a few ways give; nil where none can.
  /// - Parameters:
  ///   - delta: the file's delta on the base, in the dcz coding, which serves where renaming gains nothing.
  init?(_ file: [UInt8], over base: [UInt8], _ renaming: PackRenaming, delta: [UInt8]?) {
    var best = delta.flatMap(PackFrame.frame(ofDelta:)).map { (frame: $0, isRenamed: false) }
    if let renamed = renaming.applied(to: base) {
      let level: Int32? = file.count + base.count <= Self.small ? nil : Self.largeLevel
      if let frame = PackFrame.encode(file, base: renamed, level: level),
        frame.count < best?.frame.count ?? .max
      {
        best = (frame, true)
      }
    }
    if best == nil { best = PackFrame.encode(file, base: base).map { ($0, false) } }
    guard let best else { return nil }
    (frame, isRenamed) = best
  }

  private static let small = 256 << 10
  private static let largeLevel: Int32 = 19
}
