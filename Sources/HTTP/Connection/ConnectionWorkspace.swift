/// What the connections of one thread share: the memory that they are read through, one at a time, and the parser of the
/// head at hand. So a connection that waits holds no buffer.
package struct ConnectionWorkspace: ~Copyable {
  /// Has read the head of the last `dispatch` or `refuse`.
  package var parser = RequestParser()
  /// What was read of the connection at hand and isn't used yet.
  package var input = InputBuffer()

  /// A workspace without input.
  package init() {}
}

/// What arrived of one connection and isn't used yet, with room to read more.
package struct InputBuffer: ~Copyable {
  /// How much one read may bring.
  package static let readSize = 65_536
  private static let capacity = 3 * readSize

  private let memory: UnsafeMutableRawPointer
  private(set) var start = 0
  private(set) var end = 0

  /// An empty buffer, with room for the longest head and what one read brings behind it.
  package init() { memory = .allocate(byteCount: InputBuffer.capacity, alignment: 16) }

  deinit { memory.deallocate() }

  /// Everything that has arrived is used.
  package var isEmpty: Bool { start == end }
  /// How many bytes aren't used yet.
  package var count: Int { end &- start }

  /// The bytes that aren't used yet.
  var bytes: RawSpan {
    @_lifetime(borrow self)
    get { _overrideLifetime(UnsafeRawBufferPointer(unused).bytes, borrowing: self) }
  }

  /// The memory of a range that an action named, good until the next read.
  package func memory(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
    assert(range.lowerBound >= 0 && range.upperBound <= InputBuffer.capacity)
    return UnsafeMutableRawBufferPointer(start: memory + range.lowerBound, count: range.count)
  }

  /// The memory of all that isn't used yet, good until the next read.
  package var unused: UnsafeMutableRawBufferPointer { memory(start..<end) }

  /// Where the next read goes, behind what isn't used yet; say with `append` how much came.
  package mutating func space() -> UnsafeMutableRawBufferPointer {
    if isEmpty {
      removeAll()
    } else if start > 0 {
      // What a head begins with has to stay at the front, or several reads would leave the memory.
      memory.copyMemory(from: memory + start, byteCount: count)
      end &-= start
      start = 0
    }
    return memory(end..<end &+ InputBuffer.readSize)
  }

  /// `count` bytes were read into `space`.
  package mutating func append(_ count: Int) { end = min(end &+ count, InputBuffer.capacity) }

  /// The first `count` bytes are used.
  mutating func remove(_ count: Int) -> Range<Int> {
    let range = start..<min(start &+ count, end)
    start = range.upperBound
    return range
  }

  /// Forgets everything.
  package mutating func removeAll() {
    start = 0
    end = 0
  }

  /// Takes out all that isn't used yet, for a connection that waits.
  package mutating func takeAll() -> [UInt8] {
    defer { removeAll() }
    return isEmpty ? [] : [UInt8](unused)
  }

  /// Puts in what `takeAll` took out, before anything else is read.
  package mutating func restore(_ bytes: [UInt8]) {
    precondition(bytes.count <= InputBuffer.capacity)
    removeAll()
    bytes.withUnsafeBytes { memory(0..<$0.count).copyMemory(from: $0) }
    end = bytes.count
  }
}
