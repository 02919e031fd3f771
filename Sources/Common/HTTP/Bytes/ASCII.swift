extension UInt8 {
  /// The byte, with an ASCII capital letter lowercased.
  var lowercased: UInt8 {
    @inline(__always) get { (self &- 0x41) < 26 ? self | 0x20 : self }
  }

  /// Whether it is a space or a tab.
  var isBlank: Bool {
    @inline(__always) get { self == 0x20 || self == 0x09 }
  }

  /// Whether it is below 0x20 or is 0x7F.
  var isControl: Bool {
    @inline(__always) get { self < 0x20 || self == 0x7F }
  }

  /// Whether it is a letter, a digit or one of `-._~` (RFC 3986 §2.3).
  var isUnreserved: Bool { ByteClass(self).has(.unreserved) }

  /// The value of a hexadecimal digit of either case; nil for any other byte.
  var hexadecimal: UInt8? {
    let digit = self &- 0x30
    if digit < 10 { return digit }
    let letter = (self | 0x20) &- 0x61
    return letter < 6 ? letter &+ 10 : nil
  }
}

/// The ASCII classes of RFC 9110 and RFC 3986 that a byte belongs to, one bit each.
struct ByteClass: OptionSet {
  let rawValue: UInt8

  /// A letter, a digit or one of ``!#$%&'*+-.^_`|~`` (tchar, RFC 9110 §5.6.2).
  static let token = ByteClass(rawValue: 1)
  /// A letter, a digit or one of `-._~` (RFC 3986 §2.3).
  static let unreserved = ByteClass(rawValue: 2)
  /// Allowed in a request target: every visible character but `"`, `#`, `<` and `>`. ``[]^`{|}`` are allowed because
  /// browsers send them unescaped.
  static let target = ByteClass(rawValue: 4)
  /// Allowed in an authority: host names, addresses, a port.
  static let authority = ByteClass(rawValue: 8)
  /// Needs a closer look in a path: `%`, `.`, `?` and `\`.
  static let notable = ByteClass(rawValue: 16)

  /// The classes of each byte as a character: 0x40, `@`, plus the bits. 32 bytes per row; 0x80 and above have none.
  private static var table: StaticString {
    """
    @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\
    @M@AM]MMLLMMLO_DOOOOOOOOOOLL@L@T\
    DOOOOOOOOOOOOOOOOOOOOOOOOOOLTLEO\
    EOOOOOOOOOOOOOOOOOOOOOOOOOODEDO@\
    @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\
    @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\
    @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\
    @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
    """
  }

  init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The classes of `byte`.
  @inline(__always)
  init(_ byte: UInt8) { rawValue = ByteClass.table.utf8Start[Int(byte)] & 0x1F }

  @inline(__always)
  func has(_ other: ByteClass) -> Bool { rawValue & other.rawValue != 0 }
}
