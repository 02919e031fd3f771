/// The values of the sequences' codes, and their predefined distributions (RFC 8878 §3.1.1.3.2.1.1 and §3.1.1.3.2.2).
enum SequenceCode: Int {
  case literalLength, offset, matchLength

  /// "The maximum accuracy log is 9 for the literals length and match length tables and 8 for the offset table."
  var largestLog: Int { self == .offset ? 8 : 9 }

  var symbols: Int {
    switch self {
    case .literalLength: 36
    // As in the reference decoder: offsets below 2^32.
    case .offset: 32
    case .matchLength: 53
    }
  }

  /// The predefined distribution's Accuracy_Log.
  var predefinedLog: Int { self == .offset ? 5 : 6 }

  var predefined: [Int16] {
    switch self {
    case .literalLength:
      [4, 3] + [Int16](repeating: 2, count: 11) + [1, 1, 1] + [Int16](repeating: 2, count: 9)
        + [3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1]
    case .offset:
      [Int16](repeating: 1, count: 6) + [2, 2, 2] + [Int16](repeating: 1, count: 15)
        + [Int16](repeating: -1, count: 5)
    case .matchLength:
      [1, 4, 3, 2, 2, 2, 2, 2, 2] + [Int16](repeating: 1, count: 37) + [Int16](repeating: -1, count: 7)
    }
  }

  /// The value of each code, as the low 40 bits of a table row (`FSE`).
  var rows: [UInt64] {
    switch self {
    case .literalLength:
      Self.rows(
        first: 0, single: 16, bits: [1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
    case .offset:
      // Offset_Value; codes 0 and 1 are the repeated offsets.
      (0..<32).map { 1 << $0 | $0 << 32 }
    case .matchLength:
      Self.rows(
        first: 3, single: 32, bits: [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
    }
  }

  /// Returns the rows of a length code: the first codes stand for one length each, and each other code for all lengths
  /// up to the next one's.
  private static func rows(first: UInt64, single: UInt64, bits: [UInt64]) -> [UInt64] {
    var rows = (0..<single).map { first + $0 }
    var base = first + single
    for count in bits {
      rows.append(base | count << 32)
      base += 1 << count
    }
    return rows
  }
}
