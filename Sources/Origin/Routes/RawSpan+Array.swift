import HTTP

extension RawSpan {
  /// Whether both hold the same bytes.
  func equals(_ bytes: [UInt8]) -> Bool { equals(bytes.span.bytes) }
}
