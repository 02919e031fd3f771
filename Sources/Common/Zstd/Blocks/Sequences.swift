/// The last three offsets (RFC 8878 §3.1.1.5).
struct Offsets {
  var first = 1
  var second = 4
  var third = 8
}

/// Decodes a block's sequences and executes each immediately (RFC 8878 §3.1.1.3.2.1.2, §3.1.1.4).
struct Sequences {
  let literalLengths: BlockDecoder.Table
  let offsets: BlockDecoder.Table
  let matchLengths: BlockDecoder.Table

  /// The bits that a refill provides, minus those of the three next states: 9, 8 and 9.
  private static let easyBits = 57 - 26

  /// - Parameters:
  ///   - number: the number of sequences, at least one.
  ///   - source: the bits of the sequences.
  ///   - literals: `literalCount` bytes, followed by slack.
  ///   - literalCount: the number of literals.
  ///   - recent: the last three offsets.
  ///   - output: where to write the block.
  @inline(never)
  func execute(
    _ number: Int, from source: ReverseBits, literals: UnsafeRawPointer, _ literalCount: Int,
    _ recent: inout Offsets, to output: inout MatchWriter
  ) throws(ZstdFault) {
    var bits = source
    var (literals, literalsLeft) = (literals, literalCount)
    var (first, second, third) = (recent.first, recent.second, recent.third)
    let (lengthRows, offsetRows, matchRows) = (literalLengths.rows, offsets.rows, matchLengths.rows)
    var lengthState = bits.read(literalLengths.log)
    var offsetState = bits.read(offsets.log)
    var matchState = bits.read(matchLengths.log)
    var left = number
    while true {
      let lengthRow = lengthRows[lengthState]
      let offsetRow = offsetRows[offsetState]
      let matchRow = matchRows[matchState]
      let lengthBits = Int(truncatingIfNeeded: lengthRow &>> 32 & 0xFF)
      let offsetBits = Int(truncatingIfNeeded: offsetRow &>> 32 & 0xFF)
      let matchBits = Int(truncatingIfNeeded: matchRow &>> 32 & 0xFF)
      bits.refill()
      // Offset, match length and literal length have at most 31, 16 and 16 bits.
      let isLong = offsetBits &+ matchBits &+ lengthBits > Self.easyBits
      let offsetValue = Int(truncatingIfNeeded: offsetRow & 0xFFFF_FFFF) &+ bits.read(offsetBits)
      if isLong { bits.refill() }
      let matchLength = Int(truncatingIfNeeded: matchRow & 0xFFFF_FFFF) &+ bits.read(matchBits)
      let literalLength = Int(truncatingIfNeeded: lengthRow & 0xFFFF_FFFF) &+ bits.read(lengthBits)
      left &-= 1
      if left > 0 {
        if isLong { bits.refill() }
        lengthState = Int(truncatingIfNeeded: lengthRow &>> 48) &+ bits.read(Self.stateBits(lengthRow))
        matchState = Int(truncatingIfNeeded: matchRow &>> 48) &+ bits.read(Self.stateBits(matchRow))
        offsetState = Int(truncatingIfNeeded: offsetRow &>> 48) &+ bits.read(Self.stateBits(offsetRow))
      }
      guard bits.left >= 0 else { throw .sequences }
      let offset: Int
      if offsetValue > 3 {
        offset = offsetValue &- 3
        (first, second, third) = (offset, first, second)
      } else {
        // "When the current sequence's literals_length is 0 […] repeated offsets are shifted by one".
        switch literalLength == 0 ? offsetValue &+ 1 : offsetValue {
        case 1: offset = first
        case 2:
          offset = second
          (first, second) = (offset, first)
        case 3:
          offset = third
          (first, second, third) = (offset, first, second)
        default:
          offset = first &- 1
          guard offset > 0 else { throw .zeroOffset }
          (first, second, third) = (offset, first, second)
        }
      }
      guard literalLength <= literalsLeft else { throw .literalsRunOut }
      try output.write(literals: literals, literalLength, match: matchLength, at: offset)
      literals += literalLength
      literalsLeft &-= literalLength
      if left == 0 { break }
    }
    guard bits.left == 0 else { throw .sequences }
    recent = Offsets(first: first, second: second, third: third)
    try output.append(literals, literalsLeft)
  }

  @inline(__always)
  private static func stateBits(_ row: UInt64) -> Int { Int(truncatingIfNeeded: row &>> 40 & 0xFF) }
}
