import System

/// The space that files may still use, checked as their bytes are written: a body's size may be unknown (chunked, coded), and
/// those of several bodies that were accepted at the same time may exceed it together.
///
/// Uploads, and whatever else writes files that can wait, draw on one allowance, so the space left for the database doesn't
/// depend on how many there are. What they leave is less only by what others wrote since the allowance was renewed.
struct UploadSpace: Sendable {
  /// The bytes that may be written before the disk is asked again. Other programs and the database use the disk, too, so it is
  /// asked the more often the less is left.
  private var allowance: Int64 = 0

  /// The bytes that were taken and aren't written yet, which the disk doesn't know of. Those that are half written count twice,
  /// which errs on the side of the database.
  private var unwritten: Int64 = 0

  /// The largest allowance: 4 MB, or an eighth of what is left if that is less.
  static let largestAllowance: Int64 = 4 << 20

  /// Takes `bytes` from the allowance, which `available` renews: the bytes that files may use now. `wrote` ends each call that
  /// returned true.
  /// - Returns: whether there is room for them.
  mutating func take<Failure: Error>(_ bytes: Int64, _ available: () throws(Failure) -> Int64) throws(Failure)
    -> Bool
  {
    if bytes > allowance {
      let left = try available() - unwritten
      allowance = min(left, max(bytes, min(Self.largestAllowance, left / 8)))
    }
    guard bytes <= allowance else { return false }
    allowance -= bytes
    unwritten += bytes
    return true
  }

  /// Notes that bytes that were taken are written, or won't be.
  mutating func wrote(_ bytes: Int64) { unwritten -= bytes }
}
