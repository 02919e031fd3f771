import Values

/// Whole numbers as packs encode them: unsigned LEB128 (seven bits a byte, the lowest first, the top bit set on all but
/// the last byte), never longer than needed. The maximum is 2^53−1, as in JSON, so that every reader represents them
/// exactly.
enum Varint {
  /// The maximum length of a number in bytes.
  static let longest = 8
  /// 2^53−1, which is also the mask of a number's bits.
  static let largest = Decimal.limit

  static func append(_ value: Int64, to out: inout [UInt8]) {
    precondition((0...largest).contains(value), "packs have numbers from 0 to 2^53−1")
    var rest = value
    while rest >= 0x80 {
      out.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    out.append(UInt8(rest))
  }

  static func append(_ value: Int, to out: inout [UInt8]) { append(Int64(value), to: &out) }
}

/// Reads numbers and bytes, each checked against what is left.
struct VarintReader {
  private let bytes: [UInt8]
  private(set) var index = 0
  /// Whether the last failure was that the bytes end too early, so that more of them could help.
  private(set) var hasRunOut = false

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var left: Int { bytes.count - index }

  mutating func number() throws(PackFault) -> Int64 {
    var value: Int64 = 0
    for position in 0..<Varint.longest {
      guard index < bytes.count else { throw runOut() }
      let byte = bytes[index]
      index += 1
      value |= Int64(byte & 0x7F) << Int64(7 * position)
      if byte < 0x80 {
        guard byte != 0 || position == 0 else { throw .damaged("a number is longer than needed") }
        guard value <= Varint.largest else { throw .damaged("a number is above 2^53−1") }
        return value
      }
    }
    throw .damaged("a number has more than \(Varint.longest) bytes")
  }

  /// Reads a number below `limit`.
  mutating func number(below limit: Int) throws(PackFault) -> Int {
    let value = try number()
    guard value < Int64(limit) else { throw .damaged("\(value), where less than \(limit) was expected") }
    return Int(value)
  }

  /// Reads a count of things that take at least one byte each.
  mutating func count() throws(PackFault) -> Int { try number(below: left + 1) }

  mutating func bytes(_ count: Int) throws(PackFault) -> [UInt8] {
    guard count >= 0, count <= left else { throw runOut() }
    defer { index += count }
    return Array(bytes[index..<index + count])
  }

  private mutating func runOut() -> PackFault {
    hasRunOut = true
    return .damaged("it ends too early")
  }
}

/// Why a pack can't be used. The device then requests the patch.
package enum PackFault: Error, Hashable, Sendable {
  /// Its bytes aren't a pack, or were altered.
  case damaged(String)
  /// It leads from or to a manifest other than those in the answer that named it.
  case otherManifest
  /// It is larger than the device accepts.
  case overLimit
}
