/// An IPv4 address in a URL, in any of the forms that the WHATWG URL standard reads (section 3.5).
struct IPv4Address {
  enum Reading {
    case address(IPv4Address)
    /// Its last part is a number, but the whole is no address.
    case invalid
    /// No number at the end: a name.
    case domain
  }

  let value: UInt32

  var text: String {
    "\(value >> 24).\(value >> 16 & 255).\(value >> 8 & 255).\(value & 255)"
  }

  /// "ends in a number checker", then "IPv4 parser".
  static func read(_ host: ArraySlice<UInt8>) -> Reading {
    var parts = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    if parts.count > 1, parts.last?.isEmpty == true { parts.removeLast() }
    guard let last = parts.last, !last.isEmpty, last.allSatisfy(ASCII.isDigit) || number(last) != nil else {
      return .domain
    }
    guard parts.count <= 4 else { return .invalid }
    let numbers = parts.compactMap(number)
    guard numbers.count == parts.count, numbers.dropLast().allSatisfy({ $0 <= 255 }),
      let tail = numbers.last, tail < 1 << (8 * (5 - numbers.count))
    else { return .invalid }
    var value = tail
    for (i, number) in numbers.dropLast().enumerated() { value += number << (8 * (3 - i)) }
    return .address(IPv4Address(value: UInt32(value)))
  }

  /// "IPv4 number parser": decimal, `0…` octal, `0x…` hexadecimal; nil for a failure or above 2^32.
  private static func number(_ text: ArraySlice<UInt8>) -> UInt64? {
    guard !text.isEmpty else { return nil }
    var digits = text
    var radix: UInt64 = 10
    if text.starts(with: "0x".utf8) || text.starts(with: "0X".utf8) {
      digits = text.dropFirst(2)
      radix = 16
    } else if text.count > 1, text.first == UInt8(ascii: "0") {
      digits = text.dropFirst()
      radix = 8
    }
    var value: UInt64 = 0
    for byte in digits {
      guard let digit = ASCII.hexValue(byte), digit < radix else { return nil }
      // Held at 2^32, which no place of an address takes.
      value = min(value * radix + UInt64(digit), 1 << 32)
    }
    return value
  }
}
