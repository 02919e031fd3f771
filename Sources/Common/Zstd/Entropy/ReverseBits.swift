/// A reader of a bit stream from its end to its beginning (RFC 8878 §4.1, §4.2.2).
///
/// `left` is the number of unread bits, and is negative once too many were read: those have undefined values, and the
/// caller must check `left` before it reads 96 more bits. A load is 8 bytes that end with the next bit's byte, so it
/// begins at most 20 bytes before the stream, within the slack before each block (`Workspace.slack`).
struct ReverseBits {
  let start: UnsafeRawPointer
  private(set) var left: Int
  /// The next bits, the first one on top: at least 57 after `refill`.
  private var bits: UInt64 = 0

  /// - Returns: nil if there is no end mark, which is the highest one-bit of the last byte.
  @inline(__always)
  init?(_ start: UnsafeRawPointer, count: Int) {
    guard count > 0 else { return nil }
    let last = start.load(fromByteOffset: count - 1, as: UInt8.self)
    guard last != 0 else { return nil }
    self.start = start
    left = count * 8 - last.leadingZeroBitCount - 1
    refill()
  }

  /// Creates a reader with `left` bits left.
  @inline(__always)
  init(_ start: UnsafeRawPointer, left: Int) {
    self.start = start
    self.left = left
    refill()
  }

  @inline(__always)
  mutating func refill() {
    let end = (left &+ 7) &>> 3
    let word = (start + (end &- 8)).loadUnaligned(as: UInt64.self)
    bits = UInt64(littleEndian: word) &<< UInt64(truncatingIfNeeded: end &* 8 &- left)
  }

  /// Reads the next `count` bits, at most 57 between two refills.
  @inline(__always)
  mutating func read(_ count: Int) -> Int {
    let value = peek(count)
    skip(count)
    return value
  }

  @inline(__always)
  func peek(_ count: Int) -> Int {
    // In two steps, since a masking shift by 64 shifts by 0.
    Int(truncatingIfNeeded: (bits &>> 1) &>> UInt64(truncatingIfNeeded: 63 &- count))
  }

  @inline(__always)
  mutating func skip(_ count: Int) {
    bits = bits &<< UInt64(truncatingIfNeeded: count)
    left = left &- count
  }
}
