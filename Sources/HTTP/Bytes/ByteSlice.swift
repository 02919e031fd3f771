/// A piece of a head, as 16-bit offsets into its bytes; four bytes in all.
package struct ByteSlice: Sendable, Equatable {
  package var start: UInt16
  package var count: UInt16

  /// No piece: nothing of interest starts at offset 0 of a head.
  package static let absent = ByteSlice(start: 0, count: 0)

  package init(start: UInt16, count: UInt16) {
    self.start = start
    self.count = count
  }

  /// The piece `range`, whose ends must fit 16 bits.
  package init(_ range: Range<Int>) {
    start = UInt16(truncatingIfNeeded: range.lowerBound)
    count = UInt16(truncatingIfNeeded: range.count)
  }

  package var isAbsent: Bool { start == 0 }
  package var range: Range<Int> { Int(start)..<Int(start) &+ Int(count) }
}
