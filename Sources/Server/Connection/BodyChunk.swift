import HTTP

/// A piece of a body on its way from a loop to a worker.
final class BodyChunk: @unchecked Sendable {
  // Unchecked: the loop fills it, then a worker reads it; it is never with both.
  private let memory: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  init(capacity: Int) { memory = .allocate(byteCount: capacity, alignment: 16) }
  deinit { memory.deallocate() }

  var bytes: RawSpan {
    @_lifetime(borrow self)
    get {
      let filled = UnsafeRawBufferPointer(rebasing: memory[..<count])
      return _overrideLifetime(filled.bytes, borrowing: self)
    }
  }

  /// The part that isn't filled.
  var space: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: memory[count...]) }
  var isFull: Bool { count == memory.count }

  /// `extra` bytes were written into `space`.
  func filled(_ extra: Int) { count = min(count &+ extra, memory.count) }

  /// Adds bytes, which fit.
  func append(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { space.copyMemory(from: $0) }
    filled(bytes.byteCount)
  }
}
