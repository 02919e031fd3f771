import System

extension Archive {
  /// Returns the index of each name.
  /// - Throws: `sameName`, also if a file has the name of a folder that contains others.
  static func indices(of records: [Record]) throws(ArchiveError) -> [String: Int] {
    var indices: [String: Int] = [:]
    indices.reserveCapacity(records.count)
    for (index, record) in records.enumerated() {
      // Unicode-equivalent names count as equal: a file system that normalises names would merge them.
      if indices.updateValue(index, forKey: record.name) != nil { throw .sameName(record.name) }
    }
    for record in records {
      var folder = record.name[...]
      while let slash = folder.utf8.lastIndex(of: UInt8(ascii: "/")) {
        folder = folder[..<slash]
        guard let parent = indices[String(folder)] else { continue }
        if !records[parent].isFolder { throw .sameName(String(folder)) }
        break
      }
    }
    return indices
  }

  /// Checks that all entries together stay within `limits`.
  static func check(_ records: [Record], _ limits: ArchiveLimits, compressed: Int64) throws(ArchiveError) {
    var total: UInt64 = 0
    for record in records {
      let (sum, overflow) = total.addingReportingOverflow(record.size)
      total = overflow ? .max : sum
      if overflow { break }
    }
    if total > UInt64(max(0, limits.bytes)) { throw .tooLarge(bytes: total, limit: limits.bytes) }
    if total > ArchiveLimits.ratioFloor, total / UInt64(max(1, compressed)) >= UInt64(max(1, limits.maxRatio))
    {
      throw .ratioTooHigh(bytes: total, compressed: compressed, limit: limits.maxRatio)
    }
  }

  /// Returns the entries of `records`, each checked against its local header; none overlaps another, and all precede the
  /// directory.
  static func entries(
    _ records: [Record], before directory: UInt64, in source: any ArchiveSource
  ) throws(ArchiveError) -> [Entry] {
    var entries: [Entry] = []
    entries.reserveCapacity(records.count)
    var extents: [Extent] = []
    extents.reserveCapacity(records.count)
    for record in records {
      let (entry, end) = try locate(record, before: directory, in: source)
      extents.append(Extent(start: record.offset, end: end, index: entries.count))
      entries.append(entry)
    }
    extents.sort { ($0.start, $0.end) < ($1.start, $1.end) }
    for (a, b) in zip(extents, extents.dropFirst()) where b.start < a.end {
      throw .overlap(entries[a.index].name, entries[b.index].name)
    }
    return entries
  }

  /// The bytes of an entry, including header and descriptor.
  private struct Extent {
    let start: UInt64
    let end: UInt64
    let index: Int
  }

  /// Reads a record's local header, which must agree with it.
  private static func locate(
    _ record: Record, before limit: UInt64, in source: any ArchiveSource
  ) throws(ArchiveError) -> (Entry, end: UInt64) {
    let damaged = ArchiveError.damaged(.localHeader, entry: record.name)
    let length = UInt64(LocalFileHeader.size + record.rawName.count)
    guard record.offset <= limit, limit - record.offset >= length else { throw damaged }
    let bytes = try source.bytes(at: Int64(record.offset), count: Int(length))
    guard bytes.count == Int(length), let header = LocalFileHeader(bytes.span.bytes),
      header.nameLength == record.rawName.count, bytes[LocalFileHeader.size...].elementsEqual(record.rawName),
      header.agrees(with: record)
    else { throw damaged }
    let start = record.offset + length + UInt64(header.extraLength)
    guard start <= limit, record.compressedSize <= limit - start else {
      throw .damaged(.data, entry: record.name)
    }
    try checkLongSizes(header, of: record, extraAt: start - UInt64(header.extraLength), source)
    let entry = Entry(
      name: record.name, isFolder: record.isFolder, size: Int64(record.size),
      compressedSize: Int64(record.compressedSize), method: record.method, crc: record.crc,
      dataOffset: Int64(start))
    var end = start + record.compressedSize
    if header.flags.contains(.hasDescriptor) {
      end += try descriptor(of: record, at: end, before: limit, source)
    }
    return (entry, end)
  }

  /// Checks that the sizes that a local header leaves to its ZIP64 field are there and match the directory.
  private static func checkLongSizes(
    _ header: LocalFileHeader, of record: Record, extraAt offset: UInt64, _ source: any ArchiveSource
  ) throws(ArchiveError) {
    let isMarked = [header.size, header.compressedSize].contains(ZIP64.mark32)
    if !isMarked || header.flags.contains(.hasDescriptor) { return }
    let extra = try source.bytes(at: Int64(offset), count: Int(header.extraLength))
    // "the corresponding … original and compressed file size fields": a local header must have both.
    guard let field = ExtraFields.find(ExtraFields.zip64, in: extra.span.bytes), field.count >= 16,
      extra.span.bytes.u64(field.lowerBound) == record.size,
      extra.span.bytes.u64(field.lowerBound + 8) == record.compressedSize
    else { throw .damaged(.zip64, entry: record.name) }
  }

  /// Returns the size of the descriptor after an entry's data, which must agree with the directory.
  private static func descriptor(
    of record: Record, at offset: UInt64, before limit: UInt64, _ source: any ArchiveSource
  ) throws(ArchiveError) -> UInt64 {
    let length = min(UInt64(DataDescriptor.largestSize), limit - offset)
    let bytes = try source.bytes(at: Int64(offset), count: Int(length))
    let descriptor = DataDescriptor(crc: record.crc, compressedSize: record.compressedSize, size: record.size)
    guard let length = descriptor.length(in: bytes.span.bytes) else {
      throw .damaged(.descriptor, entry: record.name)
    }
    return UInt64(length)
  }
}

extension LocalFileHeader {
  /// Whether it agrees with the directory's record.
  fileprivate func agrees(with record: Record) -> Bool {
    guard method == record.method.rawValue, !flags.isEncrypted,
      flags.contains(.hasDescriptor) == record.flags.contains(.hasDescriptor)
    else { return false }
    func agrees(_ field: UInt32, _ value: UInt64) -> Bool {
      UInt64(field) == value || field == ZIP64.mark32
        || (field == 0 && flags.contains(.hasDescriptor))
    }
    return (crc == record.crc || (crc == 0 && flags.contains(.hasDescriptor)))
      && agrees(size, record.size) && agrees(compressedSize, record.compressedSize)
  }
}
