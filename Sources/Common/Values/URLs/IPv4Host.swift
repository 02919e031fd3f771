/// A host in a URL that may be an IPv4 address, in any form that the WHATWG URL standard accepts (section 3.5).
enum IPv4Host {
  enum Reading {
    case address(IPAddress)
    /// The last part is a number, but the whole isn't an address.
    case invalid
    /// The last part isn't a number, so it is a name.
    case domain
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
    return .address(IPAddress(v4: UInt32(value)))
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
      // Capped at 2^32, which is too large for any part of an address.
      value = min(value * radix + UInt64(digit), 1 << 32)
    }
    return value
  }
}
