extension UInt8 {
  /// The byte with an ASCII capital letter made small.
  var lowercased: UInt8 {
    @inline(__always) get { (self &- 0x41) < 26 ? self | 0x20 : self }
  }

  /// Space or tab.
  var isBlank: Bool {
    @inline(__always) get { self == 0x20 || self == 0x09 }
  }

  /// Below 0x20, or 0x7F.
  var isControl: Bool {
    @inline(__always) get { self < 0x20 || self == 0x7F }
  }

  /// A letter, a digit or one of `-._~` (RFC 3986 §2.3).
  var isUnreserved: Bool { ByteClass(self).has(.unreserved) }

  /// The value of a hexadecimal digit of either case.
  var hexadecimal: UInt8? {
    let digit = self &- 0x30
    if digit < 10 { return digit }
    let letter = (self | 0x20) &- 0x61
    return letter < 6 ? letter &+ 10 : nil
  }
}
