/// The last bytes that a frame produced, to which its matches refer.
///
/// It is a ring buffer that wraps only between blocks: a block is contiguous, and after a turn the rest of the buffer holds
/// the end of the previous turn. The `size` bytes before any byte of a block aren't overwritten, neither by the block nor by
/// the `Workspace.slack` bytes after its end, because the capacity is larger than `size`, a block and the slack together.
///
/// The buffer is one allocation, no larger than the frame can fill. The system backs it with memory as it is written.
struct Window: ~Copyable {
  /// Window_Size (RFC 8878 §3.1.1.1.2).
  let size: Int
  private let memory: UnsafeMutableRawPointer
  /// The size of the buffer in bytes.
  let capacity: Int
  /// The position of the next byte.
  private(set) var position = 0
  /// Where the bytes of the previous turn end; 0 if there was none.
  private(set) var oldEnd = 0

  /// - Parameters:
  ///   - size: Window_Size.
  ///   - outputLimit: the maximum bytes that the frame can produce; a ring of this size never wraps.
  init(size: Int, outputLimit: Int) {
    self.size = size
    capacity = min(size, outputLimit) + Workspace.largestBlock + 2 * Workspace.slack
    memory = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit { memory.deallocate() }

  /// The start of this turn's bytes.
  var start: UnsafeMutableRawPointer { memory }

  /// Wraps if a block might not fit.
  mutating func beginBlock() {
    guard position + Workspace.largestBlock + Workspace.slack > capacity else { return }
    oldEnd = position
    position = 0
  }

  /// Advances past bytes that were written at `position`.
  mutating func advance(_ count: Int) { position += count }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    if let from = bytes.baseAddress { (memory + position).copyMemory(from: from, byteCount: bytes.count) }
    position += bytes.count
  }

  mutating func append(_ byte: UInt8, count: Int) {
    (memory + position).initializeMemory(as: UInt8.self, repeating: byte, count: count)
    position += count
  }

  /// Returns the last `count` bytes.
  func last(_ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory + (position - count), count: count)
  }
}
