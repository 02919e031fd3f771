/// Up to 64 bytes held in place, for names decoded from a request without allocating.
package struct ShortText: Sendable {
  private var storage = InlineArray<64, UInt8>(repeating: 0)
  package private(set) var count = 0

  package init() {}

  package var bytes: RawSpan {
    @_lifetime(borrow self) get { storage.span.bytes.extracting(0..<count) }
  }

  /// Adds a byte; false, and nothing added, when it is full.
  package mutating func append(_ byte: UInt8) -> Bool {
    guard count < 64 else { return false }
    storage[count] = byte
    count &+= 1
    return true
  }
}
