/// Percent-encoding (RFC 3986 §2.1): `%XX`, written with uppercase digits.
package enum PercentEncoding {
  /// Returns `text` with everything but unreserved characters (RFC 3986 §2.3) escaped.
  package static func encode(_ text: String, keepsSlashes: Bool = false) -> String {
    encode(text) { keepsSlashes && $0 == UInt8(ascii: "/") }
  }

  /// Returns `text` with everything escaped but unreserved characters and the bytes that `keeps` allows.
  package static func encode(_ text: String, keeping keeps: (UInt8) -> Bool) -> String {
    var out: [UInt8] = []
    out.reserveCapacity(text.utf8.count + 32)
    for byte in text.utf8 {
      if ASCII.isUnreserved(byte) || keeps(byte) {
        out.append(byte)
      } else {
        ASCII.appendEscape(of: byte, to: &out)
      }
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// Returns `text`, which may contain escapes, with each `%` escaped, so that the escapes become literal text.
  package static func encodePercents(_ text: String) -> String {
    var out: [UInt8] = []
    out.reserveCapacity(text.utf8.count + 32)
    append(encodingPercentsOf: text, to: &out)
    return String(decoding: out, as: UTF8.self)
  }

  /// Appends the result of `encodePercents(_:)` to `out`.
  package static func append(encodingPercentsOf text: String, to out: inout [UInt8]) {
    let bytes = text.utf8Bytes
    for i in bytes.indices {
      out.append(bytes[i])
      if bytes[i] == UInt8(ascii: "%") {
        out.append(UInt8(ascii: "2"))
        out.append(UInt8(ascii: "5"))
      }
    }
  }

  /// Returns the decoded bytes, each escape decoded once; nil if a `%` isn't followed by two digits.
  package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = Array(text)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let escaped = popDigits(&rest) else { return nil }
      bytes.append(escaped)
    }
    return bytes
  }

  /// Like `decode(_:)`, but a `%` that isn't followed by two digits stands for itself (WHATWG URL standard,
  /// section 1.3).
  package static func decodeLeniently(_ text: some Sequence<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = Array(text)[...]
    while let byte = rest.popFirst() {
      bytes.append(byte == UInt8(ascii: "%") ? popDigits(&rest) ?? byte : byte)
    }
    return bytes
  }

  /// Takes the two digits of an escape.
  package static func popDigits(_ rest: inout ArraySlice<UInt8>) -> UInt8? {
    let digits = rest.prefix(2)
    guard digits.count == 2, let high = digits.first.flatMap(ASCII.hexValue),
      let low = digits.last.flatMap(ASCII.hexValue)
    else { return nil }
    rest.removeFirst(2)
    return high << 4 | low
  }
}

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

  /// The bytes to escape in a file name that becomes part of a path: the path set, and bytes with another
  /// meaning in a path.
  @inline(__always) static func inFileName(_ byte: UInt8) -> Bool {
    inPath(byte) || byte == UInt8(ascii: "%") || byte == UInt8(ascii: "\\")
  }
}
