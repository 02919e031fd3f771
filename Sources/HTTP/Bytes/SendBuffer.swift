/// Bytes under construction in one growing piece of memory, which is kept when it is emptied.
package struct SendBuffer: ~Copyable {
  private var memory: UnsafeMutableRawBufferPointer
  package private(set) var count = 0

  package init(capacity: Int) {
    memory = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit { memory.deallocate() }

  package var isEmpty: Bool { count == 0 }

  /// What was appended; good until the next change.
  package var address: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: memory[..<count])
  }

  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, bytes.count > 0 else { return }
    if memory.count &- count < bytes.count { grow(by: bytes.count) }
    memory.baseAddress?.advanced(by: count).copyMemory(from: source, byteCount: bytes.count)
    count &+= bytes.count
  }

  package mutating func append(_ bytes: RawSpan) { bytes.withUnsafeBytes { append($0) } }
  package mutating func append(_ bytes: SharedBytes) { append(bytes.address) }
  package mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }
  package mutating func append(_ literal: StaticString) { append(RawSpan(literal)) }

  /// Forgets the bytes; memory above `keeping` bytes is given back.
  package mutating func removeAll(keeping limit: Int = .max) {
    count = 0
    guard memory.count > limit else { return }
    memory.deallocate()
    memory = .allocate(byteCount: limit, alignment: 16)
  }

  private mutating func grow(by extra: Int) {
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(memory.count * 2, count + extra), alignment: 16)
    larger.copyMemory(from: address)
    memory.deallocate()
    memory = larger
  }
}
