/// The general purpose bits of an entry (APPNOTE.TXT 4.4.4).
struct RecordFlags: OptionSet, Hashable, Sendable {
  let rawValue: UInt16

  static let encrypted = RecordFlags(rawValue: 1 << 0)
  /// Checksum and sizes follow the data in a descriptor.
  static let hasDescriptor = RecordFlags(rawValue: 1 << 3)
  /// The data is a patch for another file.
  static let patch = RecordFlags(rawValue: 1 << 5)
  static let stronglyEncrypted = RecordFlags(rawValue: 1 << 6)
  static let utf8 = RecordFlags(rawValue: 1 << 11)
  /// Header values are hidden because the directory is encrypted.
  static let masked = RecordFlags(rawValue: 1 << 13)

  var isEncrypted: Bool { !isDisjoint(with: [.encrypted, .stronglyEncrypted, .masked]) }
}

/// ZIP's numbers are little-endian and unaligned (APPNOTE.TXT 4.4.1.1).
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

  /// Returns the bytes of `range`, which must be in bounds.
  func array(_ range: Range<Int>) -> [UInt8] {
    extracting(range).withUnsafeBytes { [UInt8]($0) }
  }
}

extension [UInt8] {
  mutating func append(number: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }
}
