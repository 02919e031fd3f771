/// A header's extra fields: an id and a length of two bytes each, then the data (APPNOTE.TXT 4.5.1).
enum ExtraFields {
  static let zip64: UInt16 = 0x0001
  /// Info-ZIP's Unicode path: version 1, the CRC-32 of the header's name, the name in UTF-8 (4.6.9).
  static let unicodePath: UInt16 = 0x7075

  /// Returns the range of the first field `id`'s data, or nil. Trailing bytes that don't form a field are ignored, as by
  /// other readers: some programs pad with them.
  static func find(_ id: UInt16, in bytes: RawSpan) -> Range<Int>? {
    var at = 0
    while at + 4 <= bytes.byteCount {
      let end = at + 4 + Int(bytes.u16(at + 2))
      guard end <= bytes.byteCount else { return nil }
      if bytes.u16(at) == id { return at + 4..<end }
      at = end
    }
    return nil
  }
}

/// An entry's sizes and offset, in eight bytes where the header's own field has all bits set (4.5.3).
struct ZIP64Extra {
  var size: UInt64
  var compressedSize: UInt64
  var offset: UInt64

  /// Reads the values of a directory header; nil if one is marked and the extra field lacks it.
  init?(_ header: DirectoryHeader, extra: RawSpan) {
    size = UInt64(header.size)
    compressedSize = UInt64(header.compressedSize)
    offset = UInt64(header.offset)
    guard
      header.size == ZIP64.mark32 || header.compressedSize == ZIP64.mark32 || header.offset == ZIP64.mark32
    else { return }
    guard let range = ExtraFields.find(ExtraFields.zip64, in: extra) else { return nil }
    var at = range.lowerBound
    func next(_ field: UInt32) -> UInt64? {
      guard field == ZIP64.mark32 else { return UInt64(field) }
      guard at + 8 <= range.upperBound else { return nil }
      at += 8
      return extra.u64(at - 8)
    }
    // "in the order … original size, compressed size, local header offset", each only if its field is marked.
    guard let size = next(header.size), let compressed = next(header.compressedSize),
      let offset = next(header.offset)
    else { return nil }
    (self.size, compressedSize, self.offset) = (size, compressed, offset)
  }

  /// Appends the field with these values.
  static func append(_ values: [UInt64], to out: inout [UInt8]) {
    out.append(number: ExtraFields.zip64)
    out.append(number: UInt16(values.count * 8))
    for value in values { out.append(number: value) }
  }
}
