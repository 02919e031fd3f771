import Backports

/// Immutable bytes that many answers share, held at one address until the last owner lets go.
package final class SharedBytes: @unchecked Sendable {
  // Unchecked: the memory is written only in the initialisers, before anyone else can see it.
  private let memory: UnsafeMutableRawBufferPointer

  /// Makes a copy of `bytes`.
  package init(_ bytes: RawSpan) {
    memory = .allocate(byteCount: bytes.byteCount, alignment: 16)
    bytes.withUnsafeBytes { memory.copyMemory(from: $0) }
  }

  /// Makes a copy of `bytes`.
  package convenience init(_ bytes: [UInt8]) { self.init(bytes.span.bytes) }

  /// Makes a copy of the text's UTF-8.
  package convenience init(_ text: String) { self.init([UInt8](text.utf8)) }

  /// How many there are.
  package var count: Int { memory.count }

  /// The bytes, as long as an owner is held.
  package var bytes: RawSpan {
    @_lifetime(borrow self) get { _overrideLifetime(UnsafeRawBufferPointer(memory).bytes, borrowing: self) }
  }

  /// Where the bytes are; good as long as an owner is held.
  package var address: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }

  deinit { memory.deallocate() }
}

/// Bytes under construction in one growing piece of memory, which is kept when it is emptied.
package struct SendBuffer: ~Copyable {
  private var memory: UnsafeMutableRawBufferPointer
  /// How many bytes were appended.
  package private(set) var count = 0

  /// An empty buffer with room for `capacity` bytes before it grows.
  package init(capacity: Int) {
    memory = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit { memory.deallocate() }

  /// Nothing was appended.
  package var isEmpty: Bool { count == 0 }

  /// What was appended; good until the next change.
  package var address: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: memory[..<count])
  }

  /// Adds a copy of the bytes.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, bytes.count > 0 else { return }
    if memory.count &- count < bytes.count { grow(by: bytes.count) }
    memory.baseAddress?.advanced(by: count).copyMemory(from: source, byteCount: bytes.count)
    count &+= bytes.count
  }

  /// Adds a copy of the bytes.
  package mutating func append(_ bytes: RawSpan) { bytes.withUnsafeBytes { append($0) } }
  /// Adds a copy of the bytes.
  package mutating func append(_ bytes: SharedBytes) { append(bytes.address) }
  /// Adds a copy of the bytes.
  package mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }
  /// Adds a copy of the literal's bytes.
  package mutating func append(_ literal: StaticString) { append(RawSpan(literal)) }

  /// Forgets the bytes; memory above `keeping` bytes is given back.
  package mutating func removeAll(keeping limit: Int = .max) {
    count = 0
    guard memory.count > limit else { return }
    memory.deallocate()
    memory = .allocate(byteCount: limit, alignment: 16)
  }

  /// Forgets the bytes from `start` on, which is at most `count`.
  package mutating func truncate(to start: Int) { count = start }

  private mutating func grow(by extra: Int) {
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(memory.count * 2, count + extra), alignment: 16)
    larger.copyMemory(from: address)
    memory.deallocate()
    memory = larger
  }
}
