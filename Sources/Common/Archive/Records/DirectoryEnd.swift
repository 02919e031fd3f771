/// The last record of an archive, which locates the directory (APPNOTE.TXT 4.3.16).
struct DirectoryEnd {
  static let signature: UInt32 = 0x0605_4b50
  /// In bytes, without the comment.
  static let size = 22
  /// "The combined length … of the comment": two bytes.
  static let commentLimit = 0xFFFF

  var disk: UInt16
  var directoryDisk: UInt16
  var countOnDisk: UInt16
  var count: UInt16
  var directorySize: UInt32
  var directoryOffset: UInt32
  var commentLength: UInt16

  /// Nil unless `bytes` begin with such a record.
  init?(_ bytes: RawSpan) {
    guard bytes.byteCount >= Self.size, bytes.u32(0) == Self.signature else { return nil }
    disk = bytes.u16(4)
    directoryDisk = bytes.u16(6)
    countOnDisk = bytes.u16(8)
    count = bytes.u16(10)
    directorySize = bytes.u32(12)
    directoryOffset = bytes.u32(16)
    commentLength = bytes.u16(20)
  }

  init(count: UInt16, directorySize: UInt32, directoryOffset: UInt32) {
    disk = 0
    directoryDisk = 0
    countOnDisk = count
    self.count = count
    self.directorySize = directorySize
    self.directoryOffset = directoryOffset
    commentLength = 0
  }

  func append(to out: inout [UInt8]) {
    out.append(number: Self.signature)
    out.append(number: disk)
    out.append(number: directoryDisk)
    out.append(number: countOnDisk)
    out.append(number: count)
    out.append(number: directorySize)
    out.append(number: directoryOffset)
    out.append(number: commentLength)
  }
}
