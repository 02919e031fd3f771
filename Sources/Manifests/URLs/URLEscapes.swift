/// The percent-encode sets of the WHATWG URL standard, section 1.3, for special URLs.
enum URLEscapes {
  /// "The path percent-encode set is the query percent-encode set and U+003F (?), U+005E (^), U+0060 (`),
  /// U+007B ({), and U+007D (})."
  @inline(__always) static func inPath(_ byte: UInt8) -> Bool {
    switch byte {
    case 0...0x20, 0x7F...0xFF: true
    case UInt8(ascii: "\""), UInt8(ascii: "#"), UInt8(ascii: "<"), UInt8(ascii: ">"): true
    case UInt8(ascii: "?"), UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "}"): true
    default: false
    }
  }

  /// "The special-query percent-encode set is the query percent-encode set and U+0027 (')."
  @inline(__always) static func inQuery(_ byte: UInt8) -> Bool {
    switch byte {
    case 0...0x20, 0x7F...0xFF: true
    case UInt8(ascii: "\""), UInt8(ascii: "#"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "'"): true
    default: false
    }
  }

  /// What is escaped in a file name on its way into a path: the path set and what would mean something else.
  @inline(__always) static func inFileName(_ byte: UInt8) -> Bool {
    inPath(byte) || byte == UInt8(ascii: "%") || byte == UInt8(ascii: "\\")
  }
}
