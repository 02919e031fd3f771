/// An entry of the central directory (APPNOTE.TXT 4.3.12).
struct DirectoryHeader {
  static let signature: UInt32 = 0x0201_4b50
  /// In bytes, without name, extra fields and comment.
  static let size = 46

  var versionMadeBy: UInt16
  var versionNeeded: UInt16
  var flags: RecordFlags
  var method: UInt16
  var crc: UInt32
  var compressedSize: UInt32
  var size: UInt32
  var nameLength: UInt16
  var extraLength: UInt16
  var commentLength: UInt16
  var disk: UInt16
  var externalAttributes: UInt32
  /// The offset of the local header, from the start of the archive.
  var offset: UInt32

  /// Nil unless `bytes` begin with such a record.
  init?(_ bytes: RawSpan) {
    guard bytes.byteCount >= Self.size, bytes.u32(0) == Self.signature else { return nil }
    versionMadeBy = bytes.u16(4)
    versionNeeded = bytes.u16(6)
    flags = RecordFlags(rawValue: bytes.u16(8))
    method = bytes.u16(10)
    crc = bytes.u32(16)
    compressedSize = bytes.u32(20)
    size = bytes.u32(24)
    nameLength = bytes.u16(28)
    extraLength = bytes.u16(30)
    commentLength = bytes.u16(32)
    disk = bytes.u16(34)
    externalAttributes = bytes.u32(38)
    offset = bytes.u32(42)
  }

  /// The directory's header for the entry with this local header.
  init(_ local: LocalFileHeader, offset: UInt32) {
    // "3 - UNIX" in the upper byte: the upper half of the external attributes is a mode.
    versionMadeBy = 3 << 8 | ZIP64.version
    versionNeeded = local.versionNeeded
    flags = local.flags
    method = local.method
    crc = local.crc
    compressedSize = local.compressedSize
    size = local.size
    nameLength = local.nameLength
    extraLength = local.extraLength
    commentLength = 0
    disk = 0
    externalAttributes = UInt32(FileMode.plainFile) << 16
    self.offset = offset
  }

  /// The size of the record with its variable-length fields, in bytes.
  var fullSize: Int { Self.size + Int(nameLength) + Int(extraLength) + Int(commentLength) }

  func append(to out: inout [UInt8]) {
    out.append(number: Self.signature)
    out.append(number: versionMadeBy)
    out.append(number: versionNeeded)
    out.append(number: flags.rawValue)
    out.append(number: method)
    out.append(number: DOSTime.first)
    out.append(number: crc)
    out.append(number: compressedSize)
    out.append(number: size)
    out.append(number: nameLength)
    out.append(number: extraLength)
    out.append(number: commentLength)
    out.append(number: disk)
    // Internal attributes: nothing is declared about the data.
    out.append(number: UInt16(0))
    out.append(number: externalAttributes)
    out.append(number: offset)
  }
}

/// The Unix mode in the upper half of the external attributes.
enum FileMode {
  static let plainFile: UInt16 = 0o100_644
  private static let kind: UInt16 = 0o170_000

  enum Kind { case unspecified, file, folder, link, other }

  static func kind(of externalAttributes: UInt32) -> Kind {
    switch UInt16(externalAttributes >> 16) & kind {
    case 0: .unspecified
    case 0o100_000: .file
    case 0o040_000: .folder
    case 0o120_000: .link
    default: .other
    }
  }
}
