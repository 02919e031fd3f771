/// The header of a frame (RFC 8878 §3.1.1.1).
struct FrameHeader {
  static let magic: UInt32 = 0xFD2F_B528
  /// "0x184D2A5?, which means any value from 0x184D2A50 to 0x184D2A5F" (§3.1.2).
  static let skippable: UInt32 = 0x184D_2A50

  /// The contents of the first byte, the Frame_Header_Descriptor.
  struct Descriptor {
    let windowBytes: Int
    let dictionaryBytes: Int
    let sizeBytes: Int
    let hasChecksum: Bool

    init(_ byte: UInt8) throws(ZstdFault) {
      guard byte & 0x08 == 0 else { throw .reservedBit }
      let isSingleSegment = byte & 0x20 != 0
      windowBytes = isSingleSegment ? 0 : 1
      dictionaryBytes = [0, 1, 2, 4][Int(byte & 3)]
      sizeBytes = byte >> 6 == 0 ? (isSingleSegment ? 1 : 0) : 1 << Int(byte >> 6)
      hasChecksum = byte & 0x04 != 0
    }

    /// The number of header bytes after this one; if 0, a block comes next.
    var rest: Int { windowBytes + dictionaryBytes + sizeBytes }
  }

  let window: UInt64
  /// The dictionary's number; 0 if none is named.
  let dictionary: UInt32
  /// The size of the content in bytes; nil if unknown.
  let contentSize: UInt64?
  let hasChecksum: Bool

  /// - Parameters:
  ///   - descriptor: the first byte of the header.
  ///   - bytes: the bytes after the descriptor.
  init(_ descriptor: Descriptor, _ bytes: UnsafeRawBufferPointer) {
    var position = 0
    func number(_ width: Int) -> UInt64 {
      defer { position += width }
      return (0..<width).reduce(0) { $0 | UInt64(bytes[position + $1]) << UInt64(8 * $1) }
    }
    let windowByte = descriptor.windowBytes > 0 ? number(1) : nil
    dictionary = UInt32(truncatingIfNeeded: number(descriptor.dictionaryBytes))
    // "When FCS_Field_Size is 2, the offset of 256 is added."
    let size = number(descriptor.sizeBytes) + (descriptor.sizeBytes == 2 ? 256 : 0)
    contentSize = descriptor.sizeBytes == 0 ? nil : size
    if let windowByte {
      let base: UInt64 = 1 << (10 + windowByte >> 3)
      window = base + base / 8 * (windowByte & 7)
    } else {
      window = size
    }
    hasChecksum = descriptor.hasChecksum
  }
}
