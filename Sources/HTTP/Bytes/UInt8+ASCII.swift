/// The ASCII classes of RFC 9110 and RFC 3986, each a test on one byte without a table in memory.
extension UInt8 {
  /// The byte with an ASCII capital letter made small.
  package var lowercased: UInt8 {
    @inline(__always) get { (self &- 0x41) < 26 ? self | 0x20 : self }
  }

  /// Space or tab.
  package var isBlank: Bool {
    @inline(__always) get { self == 0x20 || self == 0x09 }
  }

  /// A letter, a digit or one of ``!#$%&'*+-.^_`|~`` (tchar, RFC 9110 §5.6.2).
  package var isToken: Bool {
    @inline(__always) get { inSet(0x03FF_6CFA_0000_0000, 0x57FF_FFFF_C7FF_FFFE) }
  }

  /// A letter, a digit or one of `-._~` (RFC 3986 §2.3).
  package var isUnreserved: Bool {
    @inline(__always) get { inSet(0x03FF_6000_0000_0000, 0x47FF_FFFE_87FF_FFFE) }
  }

  /// A visible ASCII character that may stand in a request target.
  ///
  /// All but `"`, `#`, `<` and `>`: browsers send `[]^`{|}` unescaped, so they are let through.
  package var isTarget: Bool {
    @inline(__always) get { inSet(0xAFFF_FFF2_0000_0000, 0x7FFF_FFFF_FFFF_FFFF) }
  }

  /// A visible ASCII character that may stand in an authority: host names, addresses, a port.
  package var isAuthority: Bool {
    @inline(__always) get { inSet(0x2FFF_7FF2_0000_0000, 0x47FF_FFFE_AFFF_FFFE) }
  }

  /// The value of a hexadecimal digit of either case.
  package var hexadecimal: UInt8? {
    let digit = self &- 0x30
    if digit < 10 { return digit }
    let letter = (self | 0x20) &- 0x61
    return letter < 6 ? letter &+ 10 : nil
  }

  @inline(__always)
  private func inSet(_ low: UInt64, _ high: UInt64) -> Bool {
    if self >= 128 { return false }
    return (self < 64 ? low : high) &>> UInt64(self & 63) & 1 == 1
  }
}
