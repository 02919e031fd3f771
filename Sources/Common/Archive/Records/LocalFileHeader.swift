/// The header before an entry's data (APPNOTE.TXT 4.3.7).
struct LocalFileHeader {
  static let signature: UInt32 = 0x0403_4b50
  /// In bytes, without name and extra fields.
  static let size = 30

  var versionNeeded: UInt16
  var flags: RecordFlags
  var method: UInt16
  var crc: UInt32
  var compressedSize: UInt32
  var size: UInt32
  var nameLength: UInt16
  var extraLength: UInt16

  /// Nil unless `bytes` begin with such a record.
  init?(_ bytes: RawSpan) {
    guard bytes.byteCount >= Self.size, bytes.u32(0) == Self.signature else { return nil }
    versionNeeded = bytes.u16(4)
    flags = RecordFlags(rawValue: bytes.u16(6))
    method = bytes.u16(8)
    crc = bytes.u32(14)
    compressedSize = bytes.u32(18)
    size = bytes.u32(22)
    nameLength = bytes.u16(26)
    extraLength = bytes.u16(28)
  }

  init(
    versionNeeded: UInt16, flags: RecordFlags, method: UInt16, crc: UInt32, compressedSize: UInt32,
    size: UInt32,
    nameLength: UInt16, extraLength: UInt16
  ) {
    self.versionNeeded = versionNeeded
    self.flags = flags
    self.method = method
    self.crc = crc
    self.compressedSize = compressedSize
    self.size = size
    self.nameLength = nameLength
    self.extraLength = extraLength
  }

  func append(to out: inout [UInt8]) {
    out.append(number: Self.signature)
    out.append(number: versionNeeded)
    out.append(number: flags.rawValue)
    out.append(number: method)
    out.append(number: DOSTime.first)
    out.append(number: crc)
    out.append(number: compressedSize)
    out.append(number: size)
    out.append(number: nameLength)
    out.append(number: extraLength)
  }
}

/// MS-DOS dates (APPNOTE.TXT 4.4.6).
enum DOSTime {
  /// 1980-01-01 00:00:00, the earliest possible: the time is in the lower half, the date in the upper one.
  static let first: UInt32 = (0 << 9 | 1 << 5 | 1) << 16
}

/// Checksum and sizes after the data of an entry that was written before they were known (APPNOTE.TXT 4.3.9).
struct DataDescriptor {
  static let signature: UInt32 = 0x0807_4b50
  /// The size in bytes of the longest form: with the optional signature, and sizes of eight bytes.
  static let largestSize = 24

  let crc: UInt32
  let compressedSize: UInt64
  let size: UInt64

  /// Returns the size of the form in which `bytes` begin with these values; nil if they don't.
  func length(in bytes: RawSpan) -> Int? {
    var forms: [(hasSignature: Bool, isLong: Bool)] = [
      (true, false), (true, true), (false, false), (false, true),
    ]
    if ZIP64.needed(compressedSize) || ZIP64.needed(size) { forms.removeAll { !$0.isLong } }
    for form in forms where matches(in: bytes, form.hasSignature, form.isLong) {
      return (form.hasSignature ? 8 : 4) + (form.isLong ? 16 : 8)
    }
    return nil
  }

  private func matches(in bytes: RawSpan, _ hasSignature: Bool, _ isLong: Bool) -> Bool {
    let start = hasSignature ? 4 : 0
    guard bytes.byteCount >= start + 4 + (isLong ? 16 : 8) else { return false }
    if hasSignature, bytes.u32(0) != Self.signature { return false }
    guard bytes.u32(start) == crc else { return false }
    return isLong
      ? bytes.u64(start + 4) == compressedSize && bytes.u64(start + 12) == size
      : UInt64(bytes.u32(start + 4)) == compressedSize && UInt64(bytes.u32(start + 8)) == size
  }

  func append(to out: inout [UInt8], isLong: Bool) {
    out.append(number: Self.signature)
    out.append(number: crc)
    if isLong {
      out.append(number: compressedSize)
      out.append(number: size)
    } else {
      out.append(number: UInt32(compressedSize))
      out.append(number: UInt32(size))
    }
  }
}
