/// Support for numbers over four bytes (APPNOTE.TXT 4.3.14, 4.3.15, 4.5.3).
enum ZIP64 {
  /// "4.5 - File uses ZIP64 format extensions"
  static let version: UInt16 = 45
  /// Marks a field whose value is in the ZIP64 record.
  static let mark16 = UInt16.max
  static let mark32 = UInt32.max

  static func needed(_ value: UInt64) -> Bool { value >= UInt64(mark32) }

  /// Returns the value of a four-byte field.
  static func field(_ value: UInt64) -> UInt32 { needed(value) ? mark32 : UInt32(value) }
}

/// The end of the directory with eight-byte numbers.
struct ZIP64DirectoryEnd {
  static let signature: UInt32 = 0x0606_4b50
  /// In bytes, without the extensible data, which nobody writes.
  static let size = 56

  var disk: UInt32
  var directoryDisk: UInt32
  var countOnDisk: UInt64
  var count: UInt64
  var directorySize: UInt64
  var directoryOffset: UInt64
  /// The size of the whole record, in bytes.
  var fullSize: UInt64

  /// Nil unless `bytes` begin with such a record.
  init?(_ bytes: RawSpan) {
    guard bytes.byteCount >= Self.size, bytes.u32(0) == Self.signature else { return nil }
    // "SizeOfFixedFields + SizeOfVariableData - 12"
    let (full, overflow) = bytes.u64(4).addingReportingOverflow(12)
    guard !overflow, full >= UInt64(Self.size) else { return nil }
    fullSize = full
    disk = bytes.u32(16)
    directoryDisk = bytes.u32(20)
    countOnDisk = bytes.u64(24)
    count = bytes.u64(32)
    directorySize = bytes.u64(40)
    directoryOffset = bytes.u64(48)
  }

  init(count: UInt64, directorySize: UInt64, directoryOffset: UInt64) {
    disk = 0
    directoryDisk = 0
    countOnDisk = count
    self.count = count
    self.directorySize = directorySize
    self.directoryOffset = directoryOffset
    fullSize = UInt64(Self.size)
  }

  func append(to out: inout [UInt8]) {
    out.append(number: Self.signature)
    out.append(number: fullSize - 12)
    out.append(number: 3 << 8 | ZIP64.version)
    out.append(number: ZIP64.version)
    out.append(number: disk)
    out.append(number: directoryDisk)
    out.append(number: countOnDisk)
    out.append(number: count)
    out.append(number: directorySize)
    out.append(number: directoryOffset)
  }
}

/// Directly precedes the archive's last record and locates the ZIP64 one.
struct ZIP64Locator {
  static let signature: UInt32 = 0x0706_4b50
  static let size = 20

  var disk: UInt32
  var offset: UInt64
  var disks: UInt32

  /// Nil unless `bytes` begin with such a record.
  init?(_ bytes: RawSpan) {
    guard bytes.byteCount >= Self.size, bytes.u32(0) == Self.signature else { return nil }
    disk = bytes.u32(4)
    offset = bytes.u64(8)
    disks = bytes.u32(16)
  }

  init(offset: UInt64) {
    disk = 0
    self.offset = offset
    disks = 1
  }

  func append(to out: inout [UInt8]) {
    out.append(number: Self.signature)
    out.append(number: disk)
    out.append(number: offset)
    out.append(number: disks)
  }
}
