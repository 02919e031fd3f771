extension RawSpan {
  /// The byte at `index`; traps outside the span.
  package subscript(index: Int) -> UInt8 {
    @inline(__always) get { unsafeLoad(fromByteOffset: index, as: UInt8.self) }
  }

  /// The eight bytes at `index`, first byte lowest; traps outside the span.
  @inline(__always)
  package func word(at index: Int) -> UInt64 {
    UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
  }

  /// The bytes of a literal, which live as long as the program.
  @_lifetime(immortal)
  package init(_ literal: StaticString) {
    let bytes = RawSpan(_unsafeStart: literal.utf8Start, byteCount: literal.utf8CodeUnitCount)
    self = _overrideLifetime(bytes, copying: RawSpan())
  }

  /// Whether the bytes are those of `literal`.
  package func equals(_ literal: StaticString) -> Bool { equals(RawSpan(literal)) }

  /// Whether both spans hold the same bytes.
  package func equals(_ other: RawSpan) -> Bool {
    guard byteCount == other.byteCount else { return false }
    var index = 0
    while index &+ 8 <= byteCount {
      if word(at: index) != other.word(at: index) { return false }
      index &+= 8
    }
    while index < byteCount {
      if self[index] != other[index] { return false }
      index &+= 1
    }
    return true
  }

  /// Whether the bytes are those of `lowercase`, ASCII letters of either case counting as one.
  package func equalsIgnoringCase(_ lowercase: StaticString) -> Bool {
    equalsIgnoringCase(RawSpan(lowercase))
  }

  /// Whether the bytes are those of `lowercase`, ASCII letters of either case counting as one.
  package func equalsIgnoringCase(_ lowercase: RawSpan) -> Bool {
    guard byteCount == lowercase.byteCount else { return false }
    for index in 0..<byteCount where self[index].lowercased != lowercase[index].lowercased {
      return false
    }
    return true
  }

  /// Whether the bytes begin with those of `literal`.
  package func starts(with literal: StaticString) -> Bool {
    let count = literal.utf8CodeUnitCount
    return byteCount >= count && extracting(first: count).equals(literal)
  }

  /// Where `byte` is first found at or after `start`.
  package func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
    let pattern = UInt64(byte) &* 0x0101_0101_0101_0101
    var index = start
    while index &+ 8 <= byteCount {
      // The lowest marked byte is exact: a borrow can only mark bytes above a real hit.
      let difference = word(at: index) ^ pattern
      let marks = (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
      if marks != 0 { return index &+ marks.trailingZeroBitCount >> 3 }
      index &+= 8
    }
    while index < byteCount {
      if self[index] == byte { return index }
      index &+= 1
    }
    return nil
  }

  /// The bytes without spaces and tabs at both ends (OWS of RFC 9110 §5.6.3).
  package var trimmed: RawSpan {
    @_lifetime(copy self)
    get {
      var start = 0
      var end = byteCount
      while start < end, self[start].isBlank { start &+= 1 }
      while end > start, self[end &- 1].isBlank { end &-= 1 }
      return extracting(start..<end)
    }
  }

  /// The number that the bytes spell in decimal digits; nil if they don't, or if it passes `UInt64`.
  package var decimal: UInt64? {
    guard byteCount > 0 else { return nil }
    var value: UInt64 = 0
    for index in 0..<byteCount {
      let digit = self[index] &- 0x30
      guard digit < 10 else { return nil }
      let (times, over) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = times.addingReportingOverflow(UInt64(digit))
      if over || carry { return nil }
      value = sum
    }
    return value
  }

  /// The bytes as text; ill-formed UTF-8 is replaced. Allocates: not for the request path.
  package var text: String {
    withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// A copy of the bytes.
  package var array: [UInt8] {
    withUnsafeBytes { [UInt8]($0) }
  }
}
