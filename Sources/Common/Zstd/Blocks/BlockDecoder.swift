/// Decodes compressed blocks (RFC 8878 §3.1.1.3), and keeps the state that a frame's blocks share: the literals' tree, the
/// sequences' tables, the last three offsets.
///
/// Everything is read and written through pointers, because nearly all of the time is spent in these loops. This is
/// memory-safe: a block's bytes, its literals and the window's block are `Workspace.largestBlock` bytes each, with slack
/// around them; every count from the input is compared with what is left of these before it is used; and no table row leads
/// outside its table (`FSE.makeTable`, `HuffmanTable`).
struct BlockDecoder: ~Copyable {
  let workspace = Workspace()
  /// The length of the tree's longest code in bits; 0 if there is no tree yet.
  private var treeBits = 0
  /// The table of each code; nil if there is none yet.
  private var tables: (literalLengths: Table?, offsets: Table?, matchLengths: Table?) = (nil, nil, nil)
  var offsets = Offsets()
  /// Raw content (RFC 8878 §5) that precedes the first byte of a frame.
  private let dictionary: [UInt8]
  private var arePredefinedMade = false

  struct Table {
    let rows: UnsafePointer<UInt64>
    /// States are below `1 << log`.
    let log: Int
  }

  /// The decoded literals, and the size of their section.
  private struct Literals {
    let start: UnsafeRawPointer
    let count: Int
    /// The size of the section in bytes.
    let sectionSize: Int
  }

  init(dictionary: [UInt8]) {
    self.dictionary = dictionary
  }

  /// Resets the state of the previous frame.
  mutating func beginFrame() {
    treeBits = 0
    tables = (nil, nil, nil)
    offsets = Offsets()
  }

  /// Decodes the block of `count` bytes in `workspace.block` into the window, which must have room for it.
  ///
  /// - Parameters:
  ///   - count: the size of the block in bytes.
  ///   - limit: Block_Maximum_Size of the frame.
  ///   - given: the number of bytes that the frame has produced before.
  ///   - window: the window to write to.
  /// - Returns: the number of bytes written; the window isn't advanced.
  mutating func decode(count: Int, limit: Int, given: Int64, into window: borrowing Window)
    throws(ZstdFault) -> Int
  {
    let literals = try readLiterals(count: count, limit: limit)
    guard literals.count <= limit else { throw .blockSize }
    let dictionary = dictionary
    return try dictionary.withUnsafeBufferPointer { dictionary throws(ZstdFault) in
      var output = MatchWriter(
        window, dictionary: UnsafeRawBufferPointer(dictionary), limit: limit, given: given)
      try decodeSequences(
        UnsafeRawPointer(workspace.block) + literals.sectionSize, count: count - literals.sectionSize,
        literals: literals.start, literals.count, to: &output)
      return output.written
    }
  }

  // MARK: Literals

  /// Reads the literals section (§3.1.1.3.1).
  private mutating func readLiterals(count: Int, limit: Int) throws(ZstdFault) -> Literals {
    let block = UnsafeRawPointer(workspace.block)
    guard count > 0 else { throw .literalsHeader }
    // The slack after a block lets its header be loaded in one read; whether all of it exists is checked below.
    let header = UInt64(littleEndian: block.loadUnaligned(as: UInt64.self))
    let (type, format) = (header & 3, Int(header >> 2 & 3))
    func bits(_ shift: UInt64, _ count: UInt64) -> Int { Int(header >> shift & (1 << count - 1)) }
    switch type {
    case 0, 1:
      let (size, headerSize) =
        format == 1 ? (bits(4, 12), 2) : format == 3 ? (bits(4, 20), 3) : (bits(3, 5), 1)
      let coded = type == 0 ? size : 1
      guard size <= limit, headerSize + coded <= count else { throw .literalsHeader }
      let start = block + headerSize
      if type == 0 { return Literals(start: start, count: size, sectionSize: headerSize + coded) }
      workspace.literals.initializeMemory(
        as: UInt8.self, repeating: start.load(as: UInt8.self), count: size)
      return Literals(
        start: UnsafeRawPointer(workspace.literals), count: size, sectionSize: headerSize + coded)
    default:
      let width: UInt64 = format < 2 ? 10 : format == 2 ? 14 : 18
      let headerSize = format < 2 ? 3 : format + 2
      let (size, coded) = (bits(4, width), bits(4 + width, width))
      guard size > 0, size <= limit, headerSize + coded <= count else { throw .literalsHeader }
      try decodeLiterals(
        block + headerSize, count: coded, size: size, hasTree: type == 2, inFour: format != 0)
      return Literals(
        start: UnsafeRawPointer(workspace.literals), count: size, sectionSize: headerSize + coded)
    }
  }

  private mutating func decodeLiterals(
    _ start: UnsafeRawPointer, count: Int, size: Int, hasTree: Bool, inFour: Bool
  ) throws(ZstdFault) {
    var (start, count) = (start, count)
    if hasTree {
      let read = try HuffmanTable.read(start, count: count, spare: workspace.weightTable, in: workspace)
      treeBits = read.bits
      start += read.byteCount
      count -= read.byteCount
    }
    guard treeBits > 0 else { throw .noTree }
    let streams = HuffmanStreams(workspace.huffman, bits: treeBits)
    let out = workspace.literals.assumingMemoryBound(to: UInt8.self)
    if !inFour {
      guard streams.decode(start, count: count, to: out, size: size) else { throw .literals }
      return
    }
    // The Jump_Table (§3.1.1.3.1.6): the sizes of the first three streams; each has at least one byte.
    guard size >= 6, count >= 10 else { throw .literalsHeader }
    let jumps = UInt64(littleEndian: start.loadUnaligned(as: UInt64.self))
    let sizes = (Int(jumps & 0xFFFF), Int(jumps >> 16 & 0xFFFF), Int(jumps >> 32 & 0xFFFF))
    let last = count - 6 - sizes.0 - sizes.1 - sizes.2
    guard last > 0 else { throw .literalsHeader }
    guard
      streams.decode(start + 6, counts: (sizes.0, sizes.1, sizes.2, last), to: out, size: size)
    else { throw .literals }
  }

  // MARK: Sequences

  /// Reads the sequences section (§3.1.1.3.2), and executes its sequences on the literals (§3.1.1.4).
  private mutating func decodeSequences(
    _ start: UnsafeRawPointer, count: Int, literals: UnsafeRawPointer, _ literalCount: Int,
    to output: inout MatchWriter
  ) throws(ZstdFault) {
    guard count > 0 else { throw .sequencesHeader }
    // The slack after a block lets these be read even if they don't exist.
    let first = Int(start.load(as: UInt8.self))
    let second = Int(start.load(fromByteOffset: 1, as: UInt8.self))
    let third = Int(start.load(fromByteOffset: 2, as: UInt8.self))
    let (number, headerSize) =
      first < 128
      ? (first, 1) : first < 255 ? ((first - 128) << 8 + second, 2) : (second + third << 8 + 0x7F00, 3)
    if number == 0 {
      guard count == headerSize else { throw .sequencesHeader }
      return try output.append(literals, literalCount)
    }
    guard count > headerSize else { throw .sequencesHeader }
    let modes = start.load(fromByteOffset: headerSize, as: UInt8.self)
    guard modes & 3 == 0 else { throw .reservedModes }
    var position = headerSize + 1
    tables.literalLengths = try table(
      .literalLength, modes >> 6, tables.literalLengths, start, &position, count)
    tables.offsets = try table(.offset, modes >> 4 & 3, tables.offsets, start, &position, count)
    tables.matchLengths = try table(
      .matchLength, modes >> 2 & 3, tables.matchLengths, start, &position, count)
    guard let lengths = tables.literalLengths, let distances = tables.offsets,
      let matches = tables.matchLengths, let bits = ReverseBits(start + position, count: count - position)
    else { throw .sequences }
    try Sequences(literalLengths: lengths, offsets: distances, matchLengths: matches).execute(
      number, from: bits, literals: literals, literalCount, &offsets, to: &output)
  }

  /// Returns the table of a code by its Compression_Mode (§3.1.1.3.2.1); `position` moves past its description.
  private mutating func table(
    _ code: SequenceCode, _ mode: UInt8, _ last: Table?, _ start: UnsafeRawPointer, _ position: inout Int,
    _ count: Int
  ) throws(ZstdFault) -> Table {
    let rows = workspace.tables + code.rawValue * FSE.largestTable
    switch mode {
    case 0:
      if !arePredefinedMade { makePredefined() }
      return Table(
        rows: workspace.predefined + code.rawValue * FSE.predefinedTable, log: code.predefinedLog)
    case 1:
      guard position < count else { throw .sequencesHeader }
      let symbol = Int(start.load(fromByteOffset: position, as: UInt8.self))
      guard symbol < code.symbols else { throw .distribution }
      position += 1
      // A single row, which leads to itself with zero bits.
      rows[0] = workspace.codes[code.rawValue * FSE.predefinedTable + symbol]
      return Table(rows: rows, log: 0)
    case 2:
      let distribution = try FSE.readDistribution(
        start + position, count: count - position, largestLog: code.largestLog, symbols: code.symbols,
        into: workspace.probabilities)
      position += distribution.byteCount
      FSE.makeTable(
        rows, log: distribution.log, symbols: distribution.symbols,
        codes: workspace.codes + code.rawValue * FSE.predefinedTable, in: workspace)
      return Table(rows: rows, log: distribution.log)
    default:
      guard let last else { throw .noTable }
      return last
    }
  }

  private mutating func makePredefined() {
    for code in [SequenceCode.literalLength, .offset, .matchLength] {
      let probabilities = code.predefined
      for (symbol, probability) in probabilities.enumerated() {
        workspace.probabilities[symbol] = probability
      }
      FSE.makeTable(
        workspace.predefined + code.rawValue * FSE.predefinedTable, log: code.predefinedLog,
        symbols: probabilities.count, codes: workspace.codes + code.rawValue * FSE.predefinedTable,
        in: workspace)
    }
    arePredefinedMade = true
  }
}
