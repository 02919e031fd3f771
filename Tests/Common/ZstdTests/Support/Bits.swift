/// Frames that are written by hand: headers, blocks, sequences whose codes are said by RLE tables.
enum Bits {
  static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]
  /// No size, no checksum, no dictionary; a window of 1 KiB.
  static let header: [UInt8] = magic + [0x00, 0x00]

  /// Type 0: raw, 1: RLE, 2: compressed, 3: none.
  static func block(_ type: Int, size: Int, _ content: [UInt8], isLast: Bool = true) -> [UInt8] {
    let header = size << 3 | type << 1 | (isLast ? 1 : 0)
    return [UInt8(header & 0xFF), UInt8(header >> 8 & 0xFF), UInt8(header >> 16)] + content
  }

  static func compressed(_ content: [UInt8], isLast: Bool = true) -> [UInt8] {
    block(2, size: content.count, content, isLast: isLast)
  }

  /// A literals section of so many raw bytes, at most 31.
  static func literals(_ bytes: [UInt8]) -> [UInt8] { [UInt8(bytes.count << 3)] + bytes }

  /// A sequences section of one sequence: each code by an RLE table; then the bits of offset, match length and literal
  /// length, the first one on top, behind the end mark.
  static func sequence(literals: UInt8, offset: UInt8, match: UInt8, bits: String = "", modes: UInt8 = 0x54)
    -> [UInt8]
  {
    var padded = "1" + bits
    while padded.count % 8 != 0 { padded = "0" + padded }
    var stream: [UInt8] = []
    while let byte = UInt8(padded.prefix(8), radix: 2) {
      stream.insert(byte, at: 0)
      padded.removeFirst(8)
    }
    return [1, modes, literals, offset, match] + stream
  }
}
