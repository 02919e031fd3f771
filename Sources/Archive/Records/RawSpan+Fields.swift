/// The numbers of ZIP's records are little-endian and lie at any address (APPNOTE.TXT 4.4.1.1).
extension RawSpan {
  func u16(_ at: Int) -> UInt16 {
    UInt16(littleEndian: unsafeLoadUnaligned(fromByteOffset: at, as: UInt16.self))
  }

  func u32(_ at: Int) -> UInt32 {
    UInt32(littleEndian: unsafeLoadUnaligned(fromByteOffset: at, as: UInt32.self))
  }

  func u64(_ at: Int) -> UInt64 {
    UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: at, as: UInt64.self))
  }

  /// The bytes of `range`, which lies inside.
  func array(_ range: Range<Int>) -> [UInt8] {
    extracting(range).withUnsafeBytes { [UInt8]($0) }
  }
}

extension [UInt8] {
  mutating func append(number: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }
}
