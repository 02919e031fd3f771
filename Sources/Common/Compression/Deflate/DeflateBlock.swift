/// The literals and matches of one block (RFC 1951 §3.2), which is written with its own codes once there are enough of them.
struct DeflateBlock {
  /// The length of the longest match in bytes.
  static let longest = 258
  /// The maximum number of literals and matches in a block.
  private static let maxTokens = 32_768

  /// Each is a byte, or, with the highest bit set, a length minus 3 above 15 bits of a distance minus 1.
  private var tokens: [UInt32] = []
  private var literals = [UInt32](repeating: 0, count: 286)
  private var distances = [UInt32](repeating: 0, count: 30)

  // A member, because each match reads it, and a global is checked for initialisation at each access.
  private let symbols = DeflateSymbols.all

  private static let isMatch: UInt32 = 1 << 31
  private static let endOfBlock = 256

  mutating func add(literals bytes: UnsafeRawBufferPointer, to out: inout BitWriter) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let some = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.maxTokens - tokens.count))
      rest = rest.dropFirst(some.count)
      for byte in some { tokens.append(UInt32(byte)) }
      literals.withUnsafeMutableBufferPointer { counts in
        for byte in some { counts[Int(byte)] += 1 }
      }
      if tokens.count == Self.maxTokens { flush(to: &out) }
    }
  }

  /// - Parameters:
  ///   - length: 3 to 258.
  ///   - distance: 1 to 32,768.
  ///   - out: receives the block once it is full.
  @inline(__always) mutating func add(match length: Int, distance: Int, to out: inout BitWriter) {
    tokens.append(Self.isMatch | UInt32(length - 3) << 15 | UInt32(distance - 1))
    literals[symbols.length(length - 3)] += 1
    distances[symbols.distance(distance - 1)] += 1
    if tokens.count == Self.maxTokens { flush(to: &out) }
  }

  /// Writes the block, unless it is empty, and begins the next one.
  mutating func flush(to out: inout BitWriter) {
    if tokens.isEmpty { return }
    literals[Self.endOfBlock] = 1
    let literalCode = HuffmanCode(literals, limit: 15)
    let distanceCode = HuffmanCode(distances, limit: 15)
    // Not the last block; preceded by its codes (BTYPE 10).
    out.append(0b100, 3)
    Self.write(literalCode, distanceCode, to: &out)
    let symbols = symbols
    for token in tokens {
      guard token & Self.isMatch != 0 else {
        out.append(literalCode, Int(token))
        continue
      }
      let (length, distance) = (Int(token >> 15 & 0xFF), Int(token & 0x7FFF))
      let lengthSymbol = symbols.length(length)
      out.append(literalCode, lengthSymbol)
      let lengthBase = symbols.lengths[lengthSymbol - 257]
      out.append(UInt32(length - lengthBase.base), lengthBase.bits)
      let distanceSymbol = symbols.distance(distance)
      out.append(distanceCode, distanceSymbol)
      let distanceBase = symbols.distances[distanceSymbol]
      out.append(UInt32(distance - distanceBase.base), distanceBase.bits)
    }
    out.append(literalCode, Self.endOfBlock)
    tokens.removeAll(keepingCapacity: true)
    for index in literals.indices { literals[index] = 0 }
    for index in distances.indices { distances[index] = 0 }
  }

  /// Writes the lengths of both codes, which are themselves coded (§3.2.7).
  private static func write(_ literals: HuffmanCode, _ distances: HuffmanCode, to out: inout BitWriter) {
    let literalCount = max(257, literals.usedCount)
    let distanceCount = max(1, distances.usedCount)
    let runs = Self.runs(
      Array(literals.lengths[..<literalCount]) + Array(distances.lengths[..<distanceCount]))
    var counts = [UInt32](repeating: 0, count: 19)
    for run in runs { counts[run.symbol] += 1 }
    let code = HuffmanCode(counts, limit: 7)
    let used = max(4, 1 + (order.lastIndex { code.lengths[$0] > 0 } ?? 0))
    out.append(UInt32(literalCount - 257), 5)
    out.append(UInt32(distanceCount - 1), 5)
    out.append(UInt32(used - 4), 4)
    for symbol in order[..<used] { out.append(UInt32(code.lengths[symbol]), 3) }
    for run in runs {
      out.append(code, run.symbol)
      out.append(run.extra, run.bits)
    }
  }

  /// "…code lengths for the code length alphabet" come in this order.
  private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

  /// Returns lengths as symbols: the length itself; 16 repeats the previous one 3 to 6 times; 17 and 18 stand for 3 to 10
  /// and 11 to 138 zeros.
  private static func runs(_ lengths: [UInt8]) -> [(symbol: Int, extra: UInt32, bits: Int)] {
    var runs: [(symbol: Int, extra: UInt32, bits: Int)] = []
    var at = 0
    while at < lengths.count {
      let length = lengths[at]
      var count = lengths[at...].prefix { $0 == length }.count
      at += count
      if length == 0 {
        while count >= 3 {
          let run = min(count, 138)
          runs.append(run <= 10 ? (17, UInt32(run - 3), 3) : (18, UInt32(run - 11), 7))
          count -= run
        }
      } else {
        runs.append((Int(length), 0, 0))
        count -= 1
        while count >= 3 {
          let run = min(count, 6)
          runs.append((16, UInt32(run - 3), 2))
          count -= run
        }
      }
      for _ in 0..<count { runs.append((Int(length), 0, 0)) }
    }
    return runs
  }
}

/// The symbols of lengths and distances, each followed by extra bits (§3.2.5).
struct DeflateSymbols: Sendable {
  typealias Base = (base: Int, bits: Int)

  static let all = DeflateSymbols()

  /// From symbol 257 on: the smallest length minus 3, and the number of extra bits.
  let lengths: [Base]
  /// For each symbol: the smallest distance minus 1, and the number of extra bits.
  let distances: [Base]
  private let lengthSymbols: [UInt16]
  // Each distance below 256, and every 128th above, where all symbols have at least seven extra bits.
  private let distanceSymbols: [UInt8]

  private init() {
    let (lengths, distances) = (Self.lengthBases, Self.distanceBases)
    self.lengths = lengths
    self.distances = distances
    lengthSymbols = (0...255).map { length in
      UInt16(257 + (lengths.lastIndex { $0.base <= length } ?? 0))
    }
    distanceSymbols = ((0..<256).map { $0 } + (0..<256).map { $0 << 7 }).map { distance in
      UInt8(distances.lastIndex { $0.base <= distance } ?? 0)
    }
  }

  private static var lengthBases: [Base] {
    var bases: [Base] = []
    var base = 0
    for symbol in 0..<28 {
      let bits = symbol < 8 ? 0 : symbol / 4 - 1
      bases.append((base, bits))
      base += 1 << bits
    }
    // 258 has its own symbol.
    bases.append((255, 0))
    return bases
  }

  private static var distanceBases: [Base] {
    var bases: [Base] = []
    var base = 0
    for symbol in 0..<30 {
      let bits = symbol < 4 ? 0 : symbol / 2 - 1
      bases.append((base, bits))
      base += 1 << bits
    }
    return bases
  }

  /// Returns the symbol of a length minus 3.
  @inline(__always) func length(_ length: Int) -> Int { Int(lengthSymbols[length]) }

  /// Returns the symbol of a distance minus 1.
  @inline(__always) func distance(_ distance: Int) -> Int {
    Int(distanceSymbols[distance < 256 ? distance : 256 + distance >> 7])
  }
}

/// Packs bits as deflate does: into bytes, starting with the lowest bit (§3.1.1).
struct BitWriter {
  private(set) var bytes: [UInt8] = []
  private var pending: UInt64 = 0
  private var count = 0

  /// - Parameters:
  ///   - bits: the bits to append.
  ///   - count: their number, at most 32.
  @inline(__always) mutating func append(_ bits: UInt32, _ count: Int) {
    pending |= UInt64(bits) << UInt64(self.count)
    self.count += count
    if self.count >= 32 { flush(4) }
  }

  @inline(__always) mutating func append(_ code: HuffmanCode, _ symbol: Int) {
    append(code.bits[symbol], Int(code.lengths[symbol]))
  }

  @inline(__always) private mutating func flush(_ bytes: Int) {
    withUnsafeBytes(of: pending.littleEndian) { self.bytes.append(contentsOf: $0[..<bytes]) }
    pending >>= UInt64(8 * bytes)
    count -= 8 * bytes
  }

  /// Appends an empty stored block, which aligns the output to a byte (§3.2.4).
  mutating func endAtByte() {
    append(0, 3)
    append(0, (8 - count % 8) % 8)
    append(0, 16)
    append(0xFFFF, 16)
    flush(count / 8)
  }
}
