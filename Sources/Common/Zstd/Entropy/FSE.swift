/// Finite State Entropy (RFC 8878 §4.1): reads distributions, and builds decoding tables from them.
///
/// A table row is one number: the low 32 bits are the base value of its symbol, the next 8 the number of bits to read and
/// add to it, the next 8 the number of bits for the next state, and the high 16 the base of that state.
enum FSE {
  /// Accuracy_Log is at most 9 in the tables of sequences (§3.1.1.3.2.1).
  static let largestTable = 512
  static let predefinedTable = 64
  static let maxSymbols = 256

  /// The Accuracy_Log of a distribution, its number of symbols, and the length of its description in bytes.
  struct Distribution {
    var log: Int
    var symbols: Int
    var byteCount: Int
  }

  /// Reads a distribution (§4.1.1) into `probabilities`.
  ///
  /// - Parameters:
  ///   - start: `count` bytes, followed by at least 4 readable ones.
  ///   - count: the number of bytes.
  ///   - largestLog: the maximum Accuracy_Log.
  ///   - symbols: the maximum number of symbols, at most `maxSymbols`.
  ///   - probabilities: where to write the distribution.
  @inline(never)
  static func readDistribution(
    _ start: UnsafeRawPointer, count: Int, largestLog: Int, symbols: Int,
    into probabilities: UnsafeMutablePointer<Int16>
  ) throws(ZstdFault) -> Distribution {
    let end = count * 8
    // The position of the next bit. It is at most `end` whenever bits are loaded.
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
      // Values from 0 to `remaining` take `bits` bits; the lowest ones take one less.
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

  /// Builds the table of the distribution in `probabilities` (§4.1.1), whose sum must be the table's size, as with all
  /// distributions of `readDistribution`.
  ///
  /// - Parameters:
  ///   - table: where to write the table.
  ///   - log: the Accuracy_Log.
  ///   - count: the number of symbols.
  ///   - codes: the value of each symbol; nil for the symbol itself.
  ///   - workspace: the workspace with the distribution.
  @inline(never)
  static func makeTable(
    _ table: UnsafeMutablePointer<UInt64>, log: Int, symbols count: Int,
    codes: UnsafePointer<UInt64>?, in workspace: borrowing Workspace
  ) {
    let size = 1 << log
    let (probabilities, successors) = (workspace.probabilities, workspace.successors)
    let rows = workspace.symbols
    // Symbols with a probability of "less than 1" get one row each, from the end of the table.
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
