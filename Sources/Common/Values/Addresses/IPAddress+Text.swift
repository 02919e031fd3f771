import Backports

extension IPAddress: CustomStringConvertible {
  /// The usual text form, without brackets: `192.0.2.1`, or as in RFC 5952 for IPv6.
  public var text: String {
    guard isV6 else { return [24, 16, 8, 0].map { String(low >> $0 & 0xFF) }.joined(separator: ".") }
    let groups = (0..<8).map { UInt16(truncatingIfNeeded: ($0 < 4 ? high : low) >> (48 - 16 * ($0 & 3))) }
    let text = groups.map { String($0, radix: 16) }
    guard let zeros = Self.longestZeros(groups) else { return text.joined(separator: ":") }
    return text[..<zeros.lowerBound].joined(separator: ":") + "::"
      + text[zeros.upperBound...].joined(separator: ":")
  }

  /// The form used in URLs: an IPv6 address in brackets.
  public var authority: String { isV6 ? "[\(text)]" : text }

  /// The usual text form.
  public var description: String { text }

  /// The first of the longest runs of two or more zero groups, which `::` replaces.
  private static func longestZeros(_ groups: [UInt16]) -> Range<Int>? {
    var longest = 0..<1
    var start = 0
    for i in groups.indices {
      if groups[i] != 0 { start = i + 1 }
      if i + 1 - start > longest.count { longest = start..<i + 1 }
    }
    return longest.count > 1 ? longest : nil
  }
}

extension IPAddress {
  /// Parses `192.0.2.1`, four decimal numbers without leading zeros, or an IPv6 address, with or without brackets.
  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    let span = bytes.span.bytes
    let isBracketed = bytes.count > 2 && bytes.first == UInt8(ascii: "[") && bytes.last == UInt8(ascii: "]")
    guard let address = isBracketed ? Self.v6(span.extracting(1..<bytes.count - 1)) : IPAddress(span) else {
      return nil
    }
    self = address
  }

  /// Parses an address without brackets; nil for anything else.
  package init?(_ text: RawSpan) {
    if let v4 = Self.v4(text) {
      self.init(v4: v4)
    } else if let v6 = Self.v6(text) {
      self = v6
    } else {
      return nil
    }
  }

  /// Parses four decimal numbers without leading zeros, which some readers take for octal ones (RFC 6943 §3.1.1).
  private static func v4(_ text: RawSpan) -> UInt32? {
    var address: UInt32 = 0
    var index = 0
    for part in 0..<4 {
      if part > 0 {
        guard index < text.byteCount, text[index] == UInt8(ascii: ".") else { return nil }
        index += 1
      }
      let start = index
      var number: UInt32 = 0
      while index < text.byteCount, index - start < 3, ASCII.isDigit(text[index]) {
        number = number * 10 + UInt32(text[index] - 0x30)
        index += 1
      }
      guard index > start, number <= 255, index - start == 1 || text[start] != UInt8(ascii: "0") else {
        return nil
      }
      address = address << 8 | number
    }
    return index == text.byteCount ? address : nil
  }

  /// Parses an IPv6 address (RFC 4291 §2.2) without brackets.
  package static func v6(_ text: RawSpan) -> IPAddress? {
    // The groups before and after `::`, each with its count.
    var (front, back) = (Groups(), Groups())
    var isBehindGap = false
    var index = 0
    if text.byteCount >= 2, text[0] == UInt8(ascii: ":"), text[1] == UInt8(ascii: ":") {
      isBehindGap = true
      index = 2
    }
    while index < text.byteCount {
      var end = index
      while end < text.byteCount, text[end] != UInt8(ascii: ":") { end += 1 }
      let part = text.extracting(index..<end)
      if end == text.byteCount, let v4 = v4(part) {
        // An IPv4 address stands for the last two groups.
        guard front.count + back.count <= 6 else { return nil }
        let groups = [UInt16(truncatingIfNeeded: v4 >> 16), UInt16(truncatingIfNeeded: v4)]
        for group in groups { if isBehindGap { back.append(group) } else { front.append(group) } }
        break
      }
      guard front.count + back.count < 8, let group = group(part) else { return nil }
      if isBehindGap { back.append(group) } else { front.append(group) }
      index = end
      guard index < text.byteCount else { break }
      index += 1
      // A single colon must be followed by something.
      if index == text.byteCount { return nil }
      if text[index] == UInt8(ascii: ":") {
        guard !isBehindGap else { return nil }
        isBehindGap = true
        index += 1
      }
    }
    guard isBehindGap ? front.count + back.count < 8 : front.count == 8 else { return nil }
    return IPAddress(
      high: front.high(at: 0) | back.high(at: 8 - back.count),
      low: front.low(at: 0) | back.low(at: 8 - back.count))
  }

  /// One to four hexadecimal digits.
  private static func group(_ part: RawSpan) -> UInt16? {
    guard (1...4).contains(part.byteCount) else { return nil }
    var value: UInt16 = 0
    for index in 0..<part.byteCount {
      guard let digit = ASCII.hexValue(part[index]) else { return nil }
      value = value << 4 | UInt16(digit)
    }
    return value
  }

  /// Up to eight groups, as 128 bits with the last group lowest.
  private struct Groups {
    private var high: UInt64 = 0
    private var low: UInt64 = 0
    package var count = 0

    package mutating func append(_ group: UInt16) {
      high = high << 16 | low >> 48
      low = low << 16 | UInt64(group)
      count += 1
    }

    /// The first 64 of 128 bits in which the groups begin at a place from 0 to 8.
    func high(at place: Int) -> UInt64 {
      let shift = 16 * (8 - place - count)
      if shift >= 64 { return low << UInt64(shift - 64) }
      return shift == 0 ? high : high << UInt64(shift) | low >> UInt64(64 - shift)
    }

    /// The last 64 bits of them.
    func low(at place: Int) -> UInt64 {
      let shift = 16 * (8 - place - count)
      return shift >= 64 ? 0 : low << UInt64(shift)
    }
  }
}

extension RawSpan {
  /// The byte at an offset below `byteCount`.
  fileprivate subscript(_ offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }
}
