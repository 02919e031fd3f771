import Backports

/// Immutable bytes that many answers share, at a fixed address until the last owner is released.
package final class SharedBytes: @unchecked Sendable {
  // Unchecked: the memory is written only in the initialisers, before it is shared.
  private let memory: UnsafeMutableRawBufferPointer

  /// Copies `bytes`.
  package init(_ bytes: RawSpan) {
    memory = .allocate(byteCount: bytes.byteCount, alignment: 16)
    bytes.withUnsafeBytes { memory.copyMemory(from: $0) }
  }

  /// Copies `bytes`.
  package convenience init(_ bytes: [UInt8]) { self.init(bytes.span.bytes) }

  /// Copies the text's UTF-8.
  package convenience init(_ text: String) { self.init([UInt8](text.utf8)) }

  /// The number of bytes.
  package var count: Int { memory.count }

  /// The bytes, valid as long as an owner is retained.
  package var bytes: RawSpan {
    @_lifetime(borrow self) get { _overrideLifetime(UnsafeRawBufferPointer(memory).bytes, borrowing: self) }
  }

  /// The bytes' memory, valid as long as an owner is retained.
  package var address: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }

  deinit { memory.deallocate() }
}

/// A growing byte buffer that keeps its memory when it is emptied.
package struct SendBuffer: ~Copyable {
  private var memory: UnsafeMutableRawBufferPointer
  /// The number of bytes appended.
  package private(set) var count = 0

  /// Creates an empty buffer with room for `capacity` bytes before it grows.
  package init(capacity: Int) {
    memory = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit { memory.deallocate() }

  /// Whether nothing was appended.
  package var isEmpty: Bool { count == 0 }

  /// The appended bytes, valid until the next change.
  package var address: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: memory[..<count])
  }

  /// Appends a copy of the bytes.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, bytes.count > 0 else { return }
    if memory.count &- count < bytes.count { grow(by: bytes.count) }
    memory.baseAddress?.advanced(by: count).copyMemory(from: source, byteCount: bytes.count)
    count &+= bytes.count
  }

  /// Appends a copy of the bytes.
  package mutating func append(_ bytes: RawSpan) { bytes.withUnsafeBytes { append($0) } }
  /// Appends a copy of the bytes.
  package mutating func append(_ bytes: SharedBytes) { append(bytes.address) }
  /// Appends a copy of the bytes.
  package mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }
  /// Appends a copy of the literal's bytes.
  package mutating func append(_ literal: StaticString) { append(RawSpan(literal)) }

  /// Empties the buffer, and frees memory beyond `limit` bytes.
  package mutating func removeAll(keeping limit: Int = .max) {
    count = 0
    guard memory.count > limit else { return }
    memory.deallocate()
    memory = .allocate(byteCount: limit, alignment: 16)
  }

  /// Removes the bytes from `start` on, which is at most `count`.
  package mutating func truncate(to start: Int) { count = start }

  private mutating func grow(by extra: Int) {
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(memory.count * 2, count + extra), alignment: 16)
    larger.copyMemory(from: address)
    memory.deallocate()
    memory = larger
  }
}
