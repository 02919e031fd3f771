/// A prefix code for symbols of given frequencies (RFC 1951 §3.2.1), with codes assigned as in deflate (§3.2.2).
struct HuffmanCode {
  /// The number of bits of each symbol's code; 0 if it has none.
  let lengths: [UInt8]
  /// Each code with its bits reversed, as it is written.
  let bits: [UInt32]

  /// The number of symbols up to the last one that has a code.
  var usedCount: Int { 1 + (lengths.lastIndex { $0 > 0 } ?? -1) }

  /// - Parameters:
  ///   - counts: the frequency of each symbol. At least two symbols get a code, since decoders disagree about incomplete
  ///     codes.
  ///   - limit: the maximum number of bits of a code.
  init(_ counts: [UInt32], limit: Int) {
    var counts = counts
    var used = counts.count { $0 > 0 }
    for symbol in 0..<2 where used < 2 && counts[symbol] == 0 {
      counts[symbol] = 1
      used += 1
    }
    lengths = Self.lengths(counts, limit: limit)
    bits = Self.codes(lengths, limit: limit)
  }

  private static func lengths(_ counts: [UInt32], limit: Int) -> [UInt8] {
    let symbols = counts.indices.filter { counts[$0] > 0 }.sorted { (counts[$0], $0) < (counts[$1], $1) }
    // The number of codes of each length, with longer ones counted at the limit.
    var numbers = [Int](repeating: 0, count: limit + 1)
    for depth in depths(symbols.map { UInt64(counts[$0]) }) { numbers[min(depth, limit)] += 1 }
    // If these are too many, split a shorter code into two that are one bit longer, until Kraft's inequality holds.
    var excess = (1...limit).reduce(-(1 << limit)) { $0 + numbers[$1] << (limit - $1) }
    while excess > 0 {
      numbers[limit] -= 1
      if let shorter = (1..<limit).last(where: { numbers[$0] > 0 }) {
        numbers[shorter] -= 1
        numbers[shorter + 1] += 2
      }
      excess -= 1
    }
    var lengths = [UInt8](repeating: 0, count: counts.count)
    var rest = symbols[...]
    for length in (1...limit).reversed() {
      for symbol in rest.prefix(numbers[length]) { lengths[symbol] = UInt8(length) }
      rest = rest.dropFirst(numbers[length])
    }
    return lengths
  }

  /// Returns the depth of each leaf of a Huffman tree, for at least two weights in ascending order.
  private static func depths(_ weights: [UInt64]) -> [Int] {
    let leaves = weights.count
    var nodes = weights
    var parents = [Int](repeating: 0, count: 2 * leaves - 1)
    var (leaf, inner) = (0, leaves)
    func lightest() -> Int {
      if inner >= nodes.count || leaf < leaves && nodes[leaf] <= nodes[inner] {
        leaf += 1
        return leaf - 1
      }
      inner += 1
      return inner - 1
    }
    while nodes.count < 2 * leaves - 1 {
      let (first, second) = (lightest(), lightest())
      (parents[first], parents[second]) = (nodes.count, nodes.count)
      nodes.append(nodes[first] + nodes[second])
    }
    var depths = [Int](repeating: 0, count: nodes.count)
    for node in (0..<nodes.count - 1).reversed() { depths[node] = depths[parents[node]] + 1 }
    return Array(depths[..<leaves])
  }

  private static func codes(_ lengths: [UInt8], limit: Int) -> [UInt32] {
    var numbers = [UInt32](repeating: 0, count: limit + 1)
    for length in lengths where length > 0 { numbers[Int(length)] += 1 }
    var next = [UInt32](repeating: 0, count: limit + 1)
    var code: UInt32 = 0
    for length in 1...limit {
      code = (code + numbers[length - 1]) << 1
      next[length] = code
    }
    return lengths.map { length in
      guard length > 0 else { return 0 }
      defer { next[Int(length)] += 1 }
      return reversed(next[Int(length)], Int(length))
    }
  }

  private static func reversed(_ code: UInt32, _ count: Int) -> UInt32 {
    var (code, reversed) = (code, UInt32(0))
    for _ in 0..<count {
      reversed = reversed << 1 | code & 1
      code >>= 1
    }
    return reversed
  }
}
