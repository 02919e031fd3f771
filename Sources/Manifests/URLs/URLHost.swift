/// The host parser of the WHATWG URL standard, section 3.5, for hosts in ASCII.
///
/// Labels in their ASCII form (`xn--…`) are taken as written, in small letters; they aren't decoded.
enum URLHost {
  /// Writes the host as the standard's serialiser does.
  static func append(
    _ text: ArraySlice<UInt8>, to output: inout [UInt8]
  ) throws(ResourceURLError.Problem) {
    if text.isEmpty { throw .noHost }
    if text.first == UInt8(ascii: "[") {
      guard text.count > 1, text.last == UInt8(ascii: "]"),
        let address = IPv6Address(text.dropFirst().dropLast())
      else { throw .ipv6 }
      return output.append(contentsOf: address.text.utf8)
    }
    let domain = PercentEncoding.decodeLeniently(text).map(ASCII.lowered)
    for byte in domain {
      if byte >= 0x80 { throw .hostNotASCII }
      if isForbidden(byte) { throw .hostByte(byte) }
    }
    switch IPv4Address.read(domain[...]) {
    case .address(let address): output.append(contentsOf: address.text.utf8)
    case .invalid: throw .ipv4
    case .domain: output.append(contentsOf: domain)
    }
  }

  /// "A forbidden domain code point is a forbidden host code point, a C0 control, U+0025 (%), or U+007F
  /// DELETE."
  private static func isForbidden(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte == 0x7F || "#/:<>?@[\\]^|%".utf8.contains(byte)
  }
}

extension ResourceURLError.Problem: Error {}
