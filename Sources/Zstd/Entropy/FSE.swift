/// Finite State Entropy (RFC 8878 §4.1): distributions are read, and tables made of them.
///
/// A table's row is one number: the low 32 bits are the value that its symbol stands for, the next 8 how many bits are to
/// be added to that, the next 8 how many bits lead to the next state, and the high 16 what these are added to.
enum FSE {
  /// Accuracy_Log is at most 9 in the tables of sequences (§3.1.1.3.2.1).
  static let largestTable = 512
  static let predefinedTable = 64
  static let mostSymbols = 256

  /// A distribution's Accuracy_Log, the symbols it is over, and the bytes that described it.
  struct Distribution {
    var log: Int
    var symbols: Int
    var byteCount: Int
  }

  /// Reads a distribution (§4.1.1) into `probabilities`.
  ///
  /// - Parameters:
  ///   - start: at least 4 bytes may be read behind its `count` ones.
  ///   - symbols: how many there may be, `mostSymbols` at most.
  @inline(never)
  static func readDistribution(
    _ start: UnsafeRawPointer, count: Int, largestLog: Int, symbols: Int,
    into probabilities: UnsafeMutablePointer<Int16>
  ) throws(ZstdFault) -> Distribution {
    let end = count * 8
    // The next bit. It is at most `end` wherever bits are loaded.
    var position = 4
    guard count > 0 else { throw .distributionEnd }
    func peek(_ count: Int) -> Int {
      let word = UInt32(littleEndian: (start + position >> 3).loadUnaligned(as: UInt32.self))
      return Int(word &>> UInt32(position & 7)) & (1 &<< count &- 1)
    }
    let log = Int(start.load(as: UInt8.self) & 15) + 5
    guard log <= largestLog else { throw .distribution }
    // "Remaining probabilities + 1".
    var remaining = 1 << log + 1
    var symbol = 0
    while remaining > 1 {
      guard position <= end else { throw .distributionEnd }
      guard symbol < symbols else { throw .distribution }
      // The values from 0 to `remaining` need `bits` bits; the first of them one less.
      let bits = Int.bitWidth - remaining.leadingZeroBitCount
      let threshold = 1 << (bits - 1)
      let short = 2 * threshold - 1 - remaining
      var value = peek(bits - 1)
      if value < short {
        position += bits - 1
      } else {
        value = peek(bits)
        if value >= threshold { value -= short }
        position += bits
      }
      let probability = value - 1
      probabilities[symbol] = Int16(truncatingIfNeeded: probability)
      symbol += 1
      remaining -= abs(probability)
      guard probability == 0 else { continue }
      var flag = 3
      while flag == 3 {
        guard position <= end else { throw .distributionEnd }
        flag = peek(2)
        position += 2
        guard symbol + flag <= symbols else { throw .distribution }
        for _ in 0..<flag {
          probabilities[symbol] = 0
          symbol += 1
        }
      }
    }
    guard position <= end else { throw .distributionEnd }
    return Distribution(log: log, symbols: symbol, byteCount: (position + 7) >> 3)
  }

  /// Makes the table of the distribution in `probabilities` (§4.1.1), whose sum is a table's size, as all are that
  /// `readDistribution` gives.
  ///
  /// - Parameter codes: what each symbol stands for; nil: itself.
  @inline(never)
  static func makeTable(
    _ table: UnsafeMutablePointer<UInt64>, log: Int, symbols count: Int,
    codes: UnsafePointer<UInt64>?, in workspace: borrowing Workspace
  ) {
    let size = 1 << log
    let (probabilities, successors) = (workspace.probabilities, workspace.successors)
    let rows = workspace.symbols
    // "Less than 1" probabilities have a row each, from the end of the table.
    var last = size - 1
    for symbol in 0..<count {
      if probabilities[symbol] == -1 {
        rows[last] = UInt8(truncatingIfNeeded: symbol)
        last -= 1
        successors[symbol] = 1
      } else {
        successors[symbol] = UInt16(truncatingIfNeeded: probabilities[symbol])
      }
    }
    let step = size >> 1 + size >> 3 + 3
    var row = 0
    for symbol in 0..<count where probabilities[symbol] > 0 {
      for _ in 0..<Int(probabilities[symbol]) {
        rows[row] = UInt8(truncatingIfNeeded: symbol)
        // The step is odd, so all rows are visited, and row 0 is free of the symbols above.
        repeat { row = (row + step) & (size - 1) } while row > last
      }
    }
    for row in 0..<size {
      let symbol = Int(rows[row])
      let successor = Int(successors[symbol])
      successors[symbol] &+= 1
      let bits = log - (Int.bitWidth - 1 - successor.leadingZeroBitCount)
      let base = successor << bits - size
      let code = codes.map { $0[symbol] } ?? UInt64(truncatingIfNeeded: symbol)
      table[row] =
        code | UInt64(truncatingIfNeeded: bits) << 40 | UInt64(truncatingIfNeeded: base) << 48
    }
  }
}
