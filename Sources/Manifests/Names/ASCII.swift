/// Classes of ASCII bytes that several grammars here share.
enum ASCII {
  @inline(__always) static func isDigit(_ byte: UInt8) -> Bool {
    byte >= 0x30 && byte <= 0x39
  }

  @inline(__always) static func isLower(_ byte: UInt8) -> Bool {
    byte >= 0x61 && byte <= 0x7A
  }

  @inline(__always) static func isLetter(_ byte: UInt8) -> Bool {
    isLower(byte | 0x20)
  }

  @inline(__always) static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    isLetter(byte) || isDigit(byte)
  }

  /// RFC 3986, section 2.3.
  @inline(__always) static func isUnreserved(_ byte: UInt8) -> Bool {
    isLetterOrDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
      || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "~")
  }

  /// The small letter of a capital one; any other byte as it is.
  @inline(__always) static func lowered(_ byte: UInt8) -> UInt8 {
    byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
  }

  /// A hexadecimal digit's value, either case.
  @inline(__always) static func hexValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte - 0x30 }
    let letter = byte | 0x20
    return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : nil
  }

  /// `%XX` with capital digits.
  @inline(__always) static func appendEscape(of byte: UInt8, to out: inout [UInt8]) {
    out.append(UInt8(ascii: "%"))
    out.append(upperHexDigit(byte >> 4))
    out.append(upperHexDigit(byte & 15))
  }

  @inline(__always) static func upperHexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? 0x30 + value : 0x41 + value - 10
  }

  @inline(__always) static func lowerHexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? 0x30 + value : 0x61 + value - 10
  }
}

/// Texts compared by their UTF-8 bytes.
///
/// `String`'s own `==` takes two spellings of one character as equal; a JSON key is its bytes.
package enum UTF8Order {
  /// Whether both are the same bytes: `==` takes two spellings of one character as equal.
  package static func areEqual(_ a: String, _ b: String) -> Bool {
    #if canImport(Darwin)
      return a.utf8.elementsEqual(b.utf8)
    #else
      let left = a.utf8Bytes
      let right = b.utf8Bytes
      guard left.count == right.count else { return false }
      for i in left.indices where left[i] != right[i] { return false }
      return true
    #endif
  }

  /// Whether `a` comes before `b`, byte by byte.
  package static func precedes(_ a: String, _ b: String) -> Bool {
    #if canImport(Darwin)
      return a.utf8.lexicographicallyPrecedes(b.utf8)
    #else
      let left = a.utf8Bytes
      let right = b.utf8Bytes
      for i in 0..<min(left.count, right.count) where left[i] != right[i] { return left[i] < right[i] }
      return left.count < right.count
    #endif
  }
}
