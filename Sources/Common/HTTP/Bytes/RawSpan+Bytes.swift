extension RawSpan {
  /// The byte at `index`; traps outside the span.
  package subscript(index: Int) -> UInt8 {
    @inline(__always) get { unsafeLoad(fromByteOffset: index, as: UInt8.self) }
  }

  /// The bytes of a literal, valid as long as the program runs.
  @_lifetime(immortal)
  package init(_ literal: StaticString) {
    let bytes = RawSpan(_unsafeStart: literal.utf8Start, byteCount: literal.utf8CodeUnitCount)
    self = _overrideLifetime(bytes, copying: RawSpan())
  }

  /// Whether the bytes equal those of `literal`.
  package func equals(_ literal: StaticString) -> Bool { equals(RawSpan(literal)) }

  /// Whether the bytes equal those of `lowercase`, ignoring ASCII case.
  package func equalsIgnoringCase(_ lowercase: StaticString) -> Bool {
    equalsIgnoringCase(RawSpan(lowercase))
  }

  /// Whether the bytes start with those of `literal`.
  package func starts(with literal: StaticString) -> Bool {
    let count = literal.utf8CodeUnitCount
    return byteCount >= count && extracting(first: count).equals(literal)
  }

  /// The bytes without leading and trailing spaces and tabs (OWS of RFC 9110 §5.6.3).
  package var trimmed: RawSpan {
    @_lifetime(copy self)
    get {
      var start = 0
      var end = byteCount
      while start < end, unsafeByte(at: start).isBlank { start &+= 1 }
      while end > start, unsafeByte(at: end &- 1).isBlank { end &-= 1 }
      return extracting(start..<end)
    }
  }

  /// The decimal number that the bytes spell; nil if they aren't one, or if it exceeds `UInt64`.
  package var decimal: UInt64? {
    guard byteCount > 0 else { return nil }
    var value: UInt64 = 0
    for index in 0..<byteCount {
      let digit = unsafeByte(at: index) &- 0x30
      guard digit < 10 else { return nil }
      let (times, over) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = times.addingReportingOverflow(UInt64(digit))
      if over || carry { return nil }
      value = sum
    }
    return value
  }

  /// The bytes as text, with ill-formed UTF-8 replaced. Allocates: not for the request path.
  package var text: String {
    withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// A copy of the bytes.
  package var array: [UInt8] {
    withUnsafeBytes { [UInt8]($0) }
  }
}
