import Manifests

/// How many bytes a pack may make a device read and write: a few bytes of it can name a large base, or decode to a large
/// file, many times (docs/protocol.md §8, "Limits").
struct PackWork {
  private static let base: Int64 = 256 << 20
  /// The times that all files held may be read as bases.
  private static let readings: Int64 = 4
  /// The bytes that may come of one of the pack's.
  private static let ratio: Int64 = 256

  /// The bytes that are left.
  private(set) var left: Int64

  init(left: Int64) { self.left = left }

  /// - Parameters:
  ///   - pack: its size in bytes.
  ///   - held: the bytes of all files that the device lists.
  init(pack: Int64, held: Int64) {
    left = Self.base.addingClamped(Self.times(Self.readings, held)).addingClamped(
      Self.times(Self.ratio, pack))
  }

  /// - Throws: `overLimit`.
  mutating func spend(_ bytes: Int64) throws(PackFault) {
    guard bytes <= left else { throw .overLimit }
    left -= bytes
  }

  private static func times(_ factor: Int64, _ bytes: Int64) -> Int64 {
    let (product, isOver) = factor.multipliedReportingOverflow(by: max(0, bytes))
    return isOver ? .max : product
  }
}
