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

  package var count: Int { memory.count }

  package var bytes: RawSpan {
    @_lifetime(borrow self) get { _overrideLifetime(UnsafeRawBufferPointer(memory).bytes, borrowing: self) }
  }

  /// Where the bytes are; good as long as an owner is held.
  package var address: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }

  deinit { memory.deallocate() }
}
