/// How much of a head is read before it is refused.
package struct RequestLimits: Sendable, Equatable {
  /// Bytes of the whole head, at most 65,535; more is 431.
  package var headBytes: Int
  /// Bytes of the request target; more is 414.
  package var targetBytes: Int
  /// Header lines; more is 431.
  package var fieldCount: Int

  package init(headBytes: Int = 16_384, targetBytes: Int = 8_192, fieldCount: Int = 100) {
    self.headBytes = min(max(headBytes, 64), 65_535)
    self.targetBytes = min(max(targetBytes, 1), self.headBytes)
    self.fieldCount = max(fieldCount, 1)
  }
}
