/// The Huffman table of literals (RFC 8878 §4.2.1), with a row for each value of the longest code.
enum HuffmanTable {
  /// "Max_Number_of_Bits must be <= 11".
  static let maxBits = 11
  static let rows = 1 << maxBits
  /// Accuracy_Log of the weights' distribution is at most 6.
  private static let largestWeightLog = 6
  /// Literals are 0 to 255, and the last one's weight is implied.
  private static let maxWeights = 255

  /// Reads the description of a tree, and builds its table.
  ///
  /// - Parameters:
  ///   - start: the description.
  ///   - count: the number of bytes available.
  ///   - spare: room for a table of weights.
  ///   - workspace: the workspace that gets the table.
  /// - Returns: the length of the longest code in bits, and of the description in bytes.
  @inline(never)
  static func read(
    _ start: UnsafeRawPointer, count: Int, spare: UnsafeMutablePointer<UInt64>,
    in workspace: borrowing Workspace
  ) throws(ZstdFault) -> (bits: Int, byteCount: Int) {
    guard count > 0 else { throw .tree }
    let header = Int(start.load(as: UInt8.self))
    let byteCount = header < 128 ? header : (header - 127 + 1) / 2
    guard 1 + byteCount <= count else { throw .tree }
    let weights = workspace.symbols
    let weightCount: Int
    if header < 128 {
      weightCount = try decodeWeights(start + 1, count: byteCount, spare, in: workspace)
    } else {
      weightCount = header - 127
      for index in 0..<weightCount {
        let byte = start.load(fromByteOffset: 1 + index / 2, as: UInt8.self)
        weights[index] = index & 1 == 0 ? byte >> 4 : byte & 15
      }
    }
    return (try makeTable(weights, weightCount, in: workspace), 1 + byteCount)
  }

  /// "Finite State Entropy compression of Huffman weights" (§4.2.1.2).
  private static func decodeWeights(
    _ start: UnsafeRawPointer, count: Int, _ table: UnsafeMutablePointer<UInt64>,
    in workspace: borrowing Workspace
  ) throws(ZstdFault) -> Int {
    let distribution = try FSE.readDistribution(
      start, count: count, largestLog: largestWeightLog, symbols: FSE.maxSymbols,
      into: workspace.probabilities)
    FSE.makeTable(
      table, log: distribution.log, symbols: distribution.symbols, codes: nil, in: workspace)
    let described = distribution.byteCount
    guard var bits = ReverseBits(start + described, count: count - described) else { throw .tree }
    // States are below the table's size: the first ones by their number of bits, later ones by `makeTable`.
    var states = (bits.read(distribution.log), bits.read(distribution.log))
    guard bits.left >= 0 else { throw .treeBits }
    var written = 0
    while true {
      guard written + 2 <= maxWeights else { throw .tree }
      let row = table[states.0]
      workspace.symbols[written] = UInt8(truncatingIfNeeded: row)
      written += 1
      let needed = Int(row >> 40 & 0xFF)
      if needed > bits.left {
        workspace.symbols[written] = UInt8(truncatingIfNeeded: table[states.1])
        return written + 1
      }
      bits.refill()
      states = (states.1, Int(row >> 48) + bits.read(needed))
    }
  }

  /// "Conversion from weights to Huffman prefix codes" (§4.2.1.3).
  private static func makeTable(
    _ weights: UnsafeMutablePointer<UInt8>, _ count: Int, in workspace: borrowing Workspace
  ) throws(ZstdFault) -> Int {
    // The number of symbols of each weight; later the row at which the next one begins.
    var ranks = InlineRanks()
    var sum = 0
    for symbol in 0..<count {
      let weight = Int(weights[symbol])
      guard weight <= maxBits else { throw weight == maxBits + 1 ? .treeDepth : .tree }
      ranks[weight] += 1
      sum += (1 << weight) >> 1
    }
    guard sum > 0 else { throw .tree }
    let bits = Int.bitWidth - sum.leadingZeroBitCount
    guard bits <= maxBits else { throw bits == maxBits + 1 ? .treeDepth : .tree }
    // The last symbol completes the sum to a power of two.
    let rest = 1 << bits - sum
    guard rest & (rest - 1) == 0 else { throw .tree }
    let lastWeight = rest.trailingZeroBitCount + 1
    weights[count] = UInt8(truncatingIfNeeded: lastWeight)
    ranks[lastWeight] += 1
    // "If no literal has a Weight of 1, then the data is considered corrupted"; there is an even number of them.
    guard ranks[1] >= 2, ranks[1] & 1 == 0 else { throw .tree }
    var row = 0
    for weight in 1...bits {
      let first = row
      row += ranks[weight] << (weight - 1)
      ranks[weight] = first
    }
    // All symbols together have `1 << bits` rows.
    for symbol in 0...count where weights[symbol] > 0 {
      let weight = Int(weights[symbol])
      let first = ranks[weight]
      let end = first + 1 << (weight - 1)
      let value = UInt16(symbol) << 8 | UInt16(bits + 1 - weight)
      for row in first..<end { workspace.huffman[row] = value }
      ranks[weight] = end
    }
    return bits
  }
}

/// A number for each Huffman weight.
private struct InlineRanks {
  private var low = SIMD16<Int32>(repeating: 0)

  subscript(weight: Int) -> Int {
    get { Int(low[weight]) }
    set { low[weight] = Int32(truncatingIfNeeded: newValue) }
  }
}
