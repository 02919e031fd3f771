/// An IPv4 address in a URL, in any form that the WHATWG URL standard accepts (section 3.5).
struct IPv4Address {
  enum Reading {
    case address(IPv4Address)
    /// The last part is a number, but the whole isn't an address.
    case invalid
    /// The last part isn't a number, so it is a name.
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
      // Capped at 2^32, which is too large for any part of an address.
      value = min(value * radix + UInt64(digit), 1 << 32)
    }
    return value
  }
}

/// An IPv6 address in a URL (WHATWG URL standard, section 3.5; written as in RFC 5952).
package struct IPv6Address {
  /// Eight groups of two bytes.
  package private(set) var pieces: [UInt16] = []
  private var compressAt: Int?

  /// Creates an address of eight groups.
  package init(pieces: [UInt16]) { self.pieces = pieces }

  /// Parses the text between the brackets; nil if it isn't an address.
  package init?(_ text: ArraySlice<UInt8>) {
    var rest = text
    if rest.first == UInt8(ascii: ":") {
      guard rest.dropFirst().first == UInt8(ascii: ":") else { return nil }
      rest = rest.dropFirst(2)
      compressAt = 0
    }
    while !rest.isEmpty {
      guard pieces.count < 8, readPiece(&rest) else { return nil }
    }
    guard expand() else { return nil }
  }

  /// Parses a group and the colon after it, a second colon, or an IPv4 address at the end.
  private mutating func readPiece(_ rest: inout ArraySlice<UInt8>) -> Bool {
    if rest.first == UInt8(ascii: ":") {
      guard compressAt == nil else { return false }
      rest = rest.dropFirst()
      compressAt = pieces.count
      return true
    }
    let digits = rest.prefix(4).prefix { ASCII.hexValue($0) != nil }
    let tail = rest.dropFirst(digits.count)
    if tail.first == UInt8(ascii: ".") { return readIPv4(&rest) }
    guard !digits.isEmpty else { return false }
    pieces.append(digits.reduce(0) { $0 << 4 | UInt16(ASCII.hexValue($1) ?? 0) })
    rest = tail
    if rest.isEmpty { return true }
    // A colon must be followed by something.
    guard rest.popFirst() == UInt8(ascii: ":"), !rest.isEmpty else { return false }
    return true
  }

  /// Parses four decimal numbers without leading zeros, at the end of the address.
  private mutating func readIPv4(_ rest: inout ArraySlice<UInt8>) -> Bool {
    let parts = rest.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let numbers = parts.compactMap { Decimal.parse($0) }.filter { $0 <= 255 }
    guard parts.count == 4, numbers.count == 4, pieces.count <= 6 else { return false }
    pieces.append(UInt16(numbers[0] << 8 | numbers[1]))
    pieces.append(UInt16(numbers[2] << 8 | numbers[3]))
    rest = []
    return true
  }

  /// Inserts the zeros that `::` stands for.
  private mutating func expand() -> Bool {
    guard let place = compressAt else { return pieces.count == 8 }
    guard pieces.count < 8 else { return false }
    pieces.insert(contentsOf: Array(repeating: 0, count: 8 - pieces.count), at: place)
    return true
  }

  /// The address in brackets and lowercase, with the first longest run of two or more zeros as `::`.
  package var text: String {
    guard let run = longestZeros else { return "[" + Self.join(pieces[...]) + "]" }
    return "[" + Self.join(pieces[..<run.lowerBound]) + "::" + Self.join(pieces[run.upperBound...]) + "]"
  }

  private static func join(_ pieces: ArraySlice<UInt16>) -> String {
    pieces.map { String($0, radix: 16) }.joined(separator: ":")
  }

  private var longestZeros: Range<Int>? {
    var longest = 0..<1
    var start = 0
    for i in pieces.indices {
      if pieces[i] != 0 { start = i + 1 }
      if i + 1 - start > longest.count { longest = start..<i + 1 }
    }
    return longest.count > 1 ? longest : nil
  }
}
