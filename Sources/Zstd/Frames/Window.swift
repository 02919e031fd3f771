/// The bytes that a frame gave last, to which its matches refer.
///
/// It is a ring that turns only between two blocks: a block is decoded in one piece, and what lies behind the turn is what
/// came before it. `size` bytes back from any byte of a block nothing is overwritten, neither by the block nor by the
/// `Workspace.slack` bytes behind its end, because there is more room than `size` and a block and that.
///
/// The room is taken in one piece, and no more than the frame can fill. The system backs it with memory as it is written to.
struct Window: ~Copyable {
  /// Window_Size (RFC 8878 §3.1.1.1.2).
  let size: Int
  private let memory: UnsafeMutableRawPointer
  /// Bytes of memory.
  let capacity: Int
  /// Where the next byte goes.
  private(set) var position = 0
  /// Where the bytes of the turn before end; 0: there were none.
  private(set) var oldEnd = 0

  /// - Parameter most: bytes that the frame may give; a ring of so many never turns.
  init(size: Int, most: Int) {
    self.size = size
    capacity = min(size, most) + Workspace.largestBlock + 2 * Workspace.slack
    memory = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit { memory.deallocate() }

  /// Where this turn's bytes begin.
  var start: UnsafeMutableRawPointer { memory }

  /// Turns where a block might not fit.
  mutating func beginBlock() {
    guard position + Workspace.largestBlock + Workspace.slack > capacity else { return }
    oldEnd = position
    position = 0
  }

  /// Counts bytes that were written at `position`.
  mutating func advance(_ count: Int) { position += count }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    if let from = bytes.baseAddress { (memory + position).copyMemory(from: from, byteCount: bytes.count) }
    position += bytes.count
  }

  mutating func append(_ byte: UInt8, count: Int) {
    (memory + position).initializeMemory(as: UInt8.self, repeating: byte, count: count)
    position += count
  }

  /// The last bytes.
  func last(_ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory + (position - count), count: count)
  }
}
