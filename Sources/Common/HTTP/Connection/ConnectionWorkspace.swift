/// What the connections of one thread share: the input buffer, used by one at a time, and the parser of the current head.
/// A waiting connection therefore holds no buffer.
package struct ConnectionWorkspace: ~Copyable {
  /// The parser, which has read the head of the last `dispatch` or `refuse`.
  package var parser = RequestParser()
  /// The current connection's unused input.
  package var input = InputBuffer()

  /// Creates a workspace without input.
  package init() {}
}

/// A connection's input that isn't used yet, with room to read more.
package struct InputBuffer: ~Copyable {
  /// The most that one read can bring, in bytes.
  package static let readSize = 65_536
  private static let capacity = 3 * readSize

  private let memory: UnsafeMutableRawPointer
  private(set) var start = 0
  private(set) var end = 0

  /// Creates an empty buffer, with room for the longest head and one read behind it.
  package init() { memory = .allocate(byteCount: InputBuffer.capacity, alignment: 16) }

  deinit { memory.deallocate() }

  /// Whether all input is used.
  package var isEmpty: Bool { start == end }
  /// The number of unused bytes.
  package var count: Int { end &- start }

  /// The unused bytes.
  var bytes: RawSpan {
    @_lifetime(borrow self)
    get { _overrideLifetime(UnsafeRawBufferPointer(unused).bytes, borrowing: self) }
  }

  /// The memory of a range that an action named, valid until the next read.
  package func memory(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
    assert(range.lowerBound >= 0 && range.upperBound <= InputBuffer.capacity)
    return UnsafeMutableRawBufferPointer(start: memory + range.lowerBound, count: range.count)
  }

  /// The memory of all unused bytes, valid until the next read.
  package var unused: UnsafeMutableRawBufferPointer { memory(start..<end) }

  /// The memory for the next read, behind the unused bytes; `append` then takes the count.
  package mutating func space() -> UnsafeMutableRawBufferPointer {
    if isEmpty {
      removeAll()
    } else if start > 0 {
      // The start of a head must move to the front, or several reads would overrun the memory.
      memory.copyMemory(from: memory + start, byteCount: count)
      end &-= start
      start = 0
    }
    return memory(end..<end &+ InputBuffer.readSize)
  }

  /// Adds `count` bytes that were read into `space`.
  package mutating func append(_ count: Int) { end = min(end &+ count, InputBuffer.capacity) }

  /// Removes the first `count` bytes, and returns their range.
  mutating func remove(_ count: Int) -> Range<Int> {
    let range = start..<min(start &+ count, end)
    start = range.upperBound
    return range
  }

  /// Removes everything.
  package mutating func removeAll() {
    start = 0
    end = 0
  }

  /// Removes and returns all unused bytes, for a connection that waits.
  package mutating func takeAll() -> [UInt8] {
    defer { removeAll() }
    return isEmpty ? [] : [UInt8](unused)
  }

  /// Restores the bytes that `takeAll` returned, before anything else is read.
  package mutating func restore(_ bytes: [UInt8]) {
    precondition(bytes.count <= InputBuffer.capacity)
    removeAll()
    bytes.withUnsafeBytes { memory(0..<$0.count).copyMemory(from: $0) }
    end = bytes.count
  }
}
