/// An entry of the directory, its name and kind validated.
struct Record {
  let name: String
  /// The name as written in its headers.
  let rawName: [UInt8]
  let flags: RecordFlags
  let method: Archive.Method
  let isFolder: Bool
  let crc: UInt32
  let size: UInt64
  let compressedSize: UInt64
  /// The offset of the local header.
  let offset: UInt64

  /// Reads a header with its variable-length fields.
  init(_ header: DirectoryHeader, _ bytes: RawSpan) throws(ArchiveError) {
    let nameEnd = DirectoryHeader.size + Int(header.nameLength)
    rawName = bytes.array(DirectoryHeader.size..<nameEnd)
    let extra = bytes.extracting(nameEnd..<nameEnd + Int(header.extraLength))
    let written = Self.unicodeName(rawName, extra) ?? rawName
    let shown = String(decoding: written, as: UTF8.self)
    if let problem = EntryName.problem(of: written) { throw .unsafeName(shown, problem) }
    isFolder = written.last == UInt8(ascii: "/")
    name = isFolder ? String(shown.dropLast()) : shown
    guard header.disk == 0 || header.disk == ZIP64.mark16 else { throw .severalDisks }
    guard let long = ZIP64Extra(header, extra: extra) else { throw .damaged(.zip64, entry: name) }
    (size, compressedSize, offset) = (long.size, long.compressedSize, long.offset)
    flags = header.flags
    crc = header.crc
    method = try Self.method(header, name)
    try Self.checkKind(header, name, isFolder: isFolder)
    try checkSizes()
  }

  /// Returns the UTF-8 name that Info-ZIP stores beside one in another encoding.
  private static func unicodeName(_ name: [UInt8], _ extra: RawSpan) -> [UInt8]? {
    guard let range = ExtraFields.find(ExtraFields.unicodePath, in: extra), range.count > 5 else {
      return nil
    }
    let field = extra.extracting(range)
    // "If the CRC check fails, this Unicode Path Extra Field SHOULD be ignored": the entry was renamed.
    guard field.unsafeLoad(fromByteOffset: 0, as: UInt8.self) == 1, field.u32(1) == CRC32.of(name) else {
      return nil
    }
    return field.array(5..<field.byteCount)
  }

  private static func method(_ header: DirectoryHeader, _ name: String) throws(ArchiveError) -> Archive.Method
  {
    if header.flags.isEncrypted { throw .encrypted(name) }
    guard !header.flags.contains(.patch), let method = Archive.Method(rawValue: header.method) else {
      throw .unknownMethod(name, header.method)
    }
    return method
  }

  private static func checkKind(
    _ header: DirectoryHeader, _ name: String, isFolder: Bool
  ) throws(ArchiveError) {
    switch FileMode.kind(of: header.externalAttributes) {
    case .link: throw .link(name)
    case .other: throw .notAFile(name)
    case .folder where !isFolder: throw .notAFile(name)
    case .unspecified, .file, .folder: break
    }
  }

  /// Rejects impossible sizes before any data is read.
  private func checkSizes() throws(ArchiveError) {
    if isFolder, size != 0 { throw .wrongSize(name) }
    switch method {
    case .stored: if compressedSize != size { throw .wrongSize(name) }
    // zlib, technical details: deflate packs at most 1,032 bytes into one.
    case .deflate: if compressedSize == 0 || size / 1032 > compressedSize { throw .wrongSize(name) }
    }
  }
}
