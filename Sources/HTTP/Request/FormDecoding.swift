/// Walks the bytes that a form-encoded text spells: `%XX` decoded, `+` a space; bad escapes stay as they are.
package struct FormDecoder: ~Escapable {
  private let bytes: RawSpan
  private var index = 0

  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan) { self.bytes = bytes }

  /// The next byte; nil at the end.
  package mutating func next() -> UInt8? {
    guard index < bytes.byteCount else { return nil }
    let byte = bytes[index]
    index &+= 1
    if byte == 0x2B { return 0x20 }
    guard byte == 0x25, index &+ 1 < bytes.byteCount, let high = bytes[index].hexadecimal,
      let low = bytes[index &+ 1].hexadecimal
    else { return byte }
    index &+= 2
    return high << 4 | low
  }
}

extension RawSpan {
  /// Whether the form-encoded bytes spell `literal`.
  package func formDecodedEquals(_ literal: StaticString) -> Bool {
    let wanted = RawSpan(literal)
    var decoder = FormDecoder(self)
    var index = 0
    while let byte = decoder.next() {
      guard index < wanted.byteCount, wanted[index] == byte else { return false }
      index &+= 1
    }
    return index == wanted.byteCount
  }

  /// What the form-encoded bytes spell, where it fits 64 bytes; doesn't allocate.
  package var formDecoded: ShortText? {
    var decoder = FormDecoder(self)
    var text = ShortText()
    while let byte = decoder.next() {
      guard text.append(byte) else { return nil }
    }
    return text
  }

  /// What the form-encoded bytes spell, as text; nil if that isn't UTF-8. Allocates.
  package var formDecodedText: String? {
    var decoder = FormDecoder(self)
    var decoded: [UInt8] = []
    decoded.reserveCapacity(byteCount)
    while let byte = decoder.next() { decoded.append(byte) }
    return String(validating: decoded, as: UTF8.self)
  }

  /// The number that the form-encoded bytes spell in decimal digits.
  package var formDecodedDecimal: UInt64? {
    // Digits stand for themselves in any client's encoding; the escaped form is the rare one.
    if let number = decimal { return number }
    return formDecoded?.bytes.decimal
  }
}
