/// All memory that a decoder needs besides its window and dictionary: one allocation, of a fixed size.
///
/// Loads and stores are wider than needed (8 bytes for a few bits, 16 for a short copy). So there is `slack` around the
/// coded block and after the literals: its bytes are read and discarded, never decoded.
struct Workspace: ~Copyable {
  /// The upper limit of Block_Maximum_Size (RFC 8878 §3.1.1.2.4).
  static let largestBlock = 128 << 10
  /// The farthest load before a block's first byte is 8 bytes wide, after at most 12 missing bytes (`ReverseBits`); the
  /// widest load or store past an end is 16 bytes.
  static let slack = 32

  /// The content of a block, or a field of a header; `largestBlock` bytes, with slack before and after.
  let block: UnsafeMutableRawPointer
  /// Literals that can't be used in place; `largestBlock` bytes, with slack after them.
  let literals: UnsafeMutableRawPointer
  /// The rows of the Huffman table: symbol << 8 | bits.
  let huffman: UnsafeMutablePointer<UInt16>
  /// The rows of the tables for literal lengths, offsets and match lengths, `FSE.largestTable` each.
  let tables: UnsafeMutablePointer<UInt64>
  /// The same for the predefined distributions, built when they are first used.
  let predefined: UnsafeMutablePointer<UInt64>
  /// The table of a tree's weights; it can't share memory with another table, which a block may reuse.
  let weightTable: UnsafeMutablePointer<UInt64>
  /// The values of the codes of literal lengths, offsets and match lengths, `FSE.predefinedTable` each.
  let codes: UnsafeMutablePointer<UInt64>
  /// A distribution: the probability of each symbol, -1 for "less than 1".
  let probabilities: UnsafeMutablePointer<Int16>
  /// The state that the next row of each symbol leads to.
  let successors: UnsafeMutablePointer<UInt16>
  /// The symbol of each row; then the Huffman weight of each symbol.
  let symbols: UnsafeMutablePointer<UInt8>

  private let memory: UnsafeMutableRawPointer

  init() {
    var size = 0
    func reserve(_ count: Int) -> Int {
      defer { size += (count + 15) & ~15 }
      return size
    }
    let block = reserve(Self.slack + Self.largestBlock + Self.slack) + Self.slack
    let literals = reserve(Self.largestBlock + Self.slack)
    let huffman = reserve(HuffmanTable.rows * 2)
    let tables = reserve(3 * FSE.largestTable * 8)
    let predefined = reserve(3 * FSE.predefinedTable * 8)
    let weightTable = reserve(FSE.predefinedTable * 8)
    let codes = reserve(3 * FSE.predefinedTable * 8)
    let probabilities = reserve(FSE.maxSymbols * 2)
    let successors = reserve(FSE.maxSymbols * 2)
    let symbols = reserve(FSE.largestTable)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
    // Tables are initialised from the start. The block and the literals are written before they are used, except the
    // slack before the block.
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: Self.slack)
    (memory + huffman).initializeMemory(as: UInt8.self, repeating: 0, count: size - huffman)
    self.block = memory + block
    self.literals = memory + literals
    self.huffman = (memory + huffman).assumingMemoryBound(to: UInt16.self)
    self.tables = (memory + tables).assumingMemoryBound(to: UInt64.self)
    self.predefined = (memory + predefined).assumingMemoryBound(to: UInt64.self)
    self.weightTable = (memory + weightTable).assumingMemoryBound(to: UInt64.self)
    self.codes = (memory + codes).assumingMemoryBound(to: UInt64.self)
    self.probabilities = (memory + probabilities).assumingMemoryBound(to: Int16.self)
    self.successors = (memory + successors).assumingMemoryBound(to: UInt16.self)
    self.symbols = (memory + symbols).assumingMemoryBound(to: UInt8.self)
    self.memory = memory
    for code in [SequenceCode.literalLength, .offset, .matchLength] {
      for (symbol, row) in code.rows.enumerated() {
        self.codes[code.rawValue * FSE.predefinedTable + symbol] = row
      }
    }
  }

  deinit { memory.deallocate() }
}
