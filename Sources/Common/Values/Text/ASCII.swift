/// Classes of ASCII bytes that several grammars share.
package enum ASCII {
  @inline(__always) package static func isDigit(_ byte: UInt8) -> Bool {
    byte >= 0x30 && byte <= 0x39
  }

  @inline(__always) package static func isLower(_ byte: UInt8) -> Bool {
    byte >= 0x61 && byte <= 0x7A
  }

  @inline(__always) package static func isLetter(_ byte: UInt8) -> Bool {
    isLower(byte | 0x20)
  }

  @inline(__always) package static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    isLetter(byte) || isDigit(byte)
  }

  /// RFC 3986, section 2.3.
  @inline(__always) package static func isUnreserved(_ byte: UInt8) -> Bool {
    isLetterOrDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
      || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "~")
  }

  /// Returns an uppercase letter in lowercase; any other byte unchanged.
  @inline(__always) package static func lowered(_ byte: UInt8) -> UInt8 {
    byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
  }

  /// Returns the value of a hexadecimal digit in either case; nil for any other byte.
  @inline(__always) package static func hexValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte - 0x30 }
    let letter = byte | 0x20
    return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : nil
  }

  /// Appends `%XX` with uppercase digits.
  @inline(__always) package static func appendEscape(of byte: UInt8, to out: inout [UInt8]) {
    out.append(UInt8(ascii: "%"))
    out.append(upperHexDigit(byte >> 4))
    out.append(upperHexDigit(byte & 15))
  }

  @inline(__always) package static func upperHexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? 0x30 + value : 0x41 + value - 10
  }

  @inline(__always) package static func lowerHexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? 0x30 + value : 0x61 + value - 10
  }
}

/// Comparison of strings by their UTF-8 bytes.
///
/// `String` compares by canonical equivalence, whereas JSON keys are compared by their bytes.
package enum UTF8Order {
  /// Whether both have the same bytes.
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

  /// Whether `a` sorts before `b`, byte by byte.
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
