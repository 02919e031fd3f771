/// Whole numbers as packs write them: seven bits a byte, the lowest first, the top bit set on all but the last
/// (unsigned LEB128). From 0 to 2^63−1, so nine bytes at most; never longer than needed.
enum Varint {
  static let longest = 9

  static func append(_ value: Int64, to out: inout [UInt8]) {
    precondition(value >= 0, "packs have no negative numbers")
    var rest = value
    while rest >= 0x80 {
      out.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    out.append(UInt8(rest))
  }

  static func append(_ value: Int, to out: inout [UInt8]) { append(Int64(value), to: &out) }
}

/// Reads a run of numbers and texts, each checked against what is left.
struct VarintReader {
  private let bytes: [UInt8]
  private(set) var index: Int

  init(_ bytes: [UInt8], from start: Int = 0) {
    self.bytes = bytes
    index = start
  }

  var left: Int { bytes.count - index }

  mutating func number() throws(PackFault) -> Int64 {
    var value: UInt64 = 0
    for position in 0..<Varint.longest {
      guard index < bytes.count else { throw .damaged("a number ends too early") }
      let byte = bytes[index]
      index += 1
      value |= UInt64(byte & 0x7F) << UInt64(7 * position)
      if byte < 0x80 {
        guard byte != 0 || position == 0 else { throw .damaged("a number is longer than needed") }
        return Int64(value)
      }
    }
    throw .damaged("a number has more than \(Varint.longest) bytes")
  }

  /// A number below `limit`.
  mutating func number(below limit: Int) throws(PackFault) -> Int {
    let value = try number()
    guard value < Int64(limit) else { throw .damaged("\(value), where less than \(limit) was expected") }
    return Int(value)
  }

  /// How many things follow that take at least one byte each.
  mutating func count() throws(PackFault) -> Int { try number(below: left + 1) }

  mutating func bytes(_ count: Int) throws(PackFault) -> [UInt8] {
    guard count >= 0, count <= left else { throw .damaged("it ends too early") }
    defer { index += count }
    return Array(bytes[index..<index + count])
  }

  mutating func text() throws(PackFault) -> String {
    let length = try count()
    guard let text = String(validating: try bytes(length), as: UTF8.self) else {
      throw .damaged("a text isn't UTF-8")
    }
    return text
  }
}

/// Why a pack can't be used. A device asks for the patch then.
package enum PackFault: Error, Hashable, Sendable {
  /// Its bytes aren't a pack, or not those that were made.
  case damaged(String)
  /// It leads from or to another manifest than the answer that named it.
  case otherManifest
  /// It is larger than the device takes.
  case overLimit
}
