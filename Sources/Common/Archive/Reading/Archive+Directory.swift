import System

extension Archive {
  /// The location of an archive's directory.
  struct Directory {
    let offset: UInt64
    let size: UInt64
    let count: UInt64
  }

  /// The maximum size of a directory in bytes: it is held in memory.
  private static let directoryLimit: UInt64 = 1 << 30

  /// Finds the directory, and checks that it ends where the end records begin.
  static func directory(of source: any ArchiveSource, _ limits: ArchiveLimits) throws(ArchiveError)
    -> Directory
  {
    let (end, at) = try end(of: source)
    var (directory, after) = (
      Directory(
        offset: UInt64(end.directoryOffset), size: UInt64(end.directorySize), count: UInt64(end.count)), at
    )
    if let long = try zip64End(of: source, before: at) {
      guard end.agrees(with: long.end) else { throw .damaged(.zip64, entry: nil) }
      directory = Directory(
        offset: long.end.directoryOffset, size: long.end.directorySize, count: long.end.count)
      after = long.offset
    } else if end.disk != 0 || end.directoryDisk != 0 || end.count != end.countOnDisk {
      throw .severalDisks
    }
    // Nothing may come between the directory and its end, or other readers might find another directory.
    let (sum, overflow) = directory.offset.addingReportingOverflow(directory.size)
    guard !overflow, sum == after else { throw .damaged(.directory, entry: nil) }
    guard directory.count <= UInt64(max(0, limits.entries)) else {
      throw .tooMany(entries: directory.count, limit: limits.entries)
    }
    guard directory.size <= directoryLimit,
      directory.count <= directory.size / UInt64(DirectoryHeader.size)
    else { throw .damaged(.directory, entry: nil) }
    return directory
  }

  /// Returns the last record and its offset: its comment must extend exactly to the last byte.
  private static func end(of source: any ArchiveSource) throws(ArchiveError) -> (DirectoryEnd, at: UInt64) {
    let count = Int(min(source.size, Int64(DirectoryEnd.size + DirectoryEnd.commentLimit)))
    let tail = try source.bytes(at: source.size - Int64(count), count: count)
    let bytes = tail.span.bytes
    var at = bytes.byteCount - DirectoryEnd.size
    while at >= 0 {
      if let end = DirectoryEnd(bytes.extracting(at..<bytes.byteCount)),
        at + DirectoryEnd.size + Int(end.commentLength) == bytes.byteCount
      {
        return (end, UInt64(source.size - Int64(count)) + UInt64(at))
      }
      at -= 1
    }
    throw .notAnArchive
  }

  /// Returns the directory's records, in order; they must fill it exactly.
  static func records(of directory: Directory, in source: any ArchiveSource) throws(ArchiveError) -> [Record]
  {
    let array = try source.bytes(at: Int64(directory.offset), count: Int(directory.size))
    guard array.count == Int(directory.size) else { throw .damaged(.directory, entry: nil) }
    let bytes = array.span.bytes
    var records: [Record] = []
    records.reserveCapacity(Int(directory.count))
    var at = 0
    while at < bytes.byteCount {
      guard let header = DirectoryHeader(bytes.extracting(at..<bytes.byteCount)),
        header.fullSize <= bytes.byteCount - at
      else { throw .damaged(.directory, entry: records.last?.name) }
      records.append(try Record(header, bytes.extracting(at..<at + header.fullSize)))
      at += header.fullSize
    }
    guard records.count == Int(directory.count) else { throw .damaged(.directory, entry: nil) }
    return records
  }
}

extension Archive {
  /// Returns the ZIP64 end of the directory and its offset; nil if no locator precedes the last record.
  static func zip64End(
    of source: any ArchiveSource, before end: UInt64
  ) throws(ArchiveError) -> (end: ZIP64DirectoryEnd, offset: UInt64)? {
    guard end >= UInt64(ZIP64Locator.size) else { return nil }
    let locatorOffset = end - UInt64(ZIP64Locator.size)
    let bytes = try source.bytes(at: Int64(locatorOffset), count: ZIP64Locator.size)
    guard let locator = ZIP64Locator(bytes.span.bytes) else { return nil }
    guard locator.disk == 0, locator.disks == 1 else { throw .severalDisks }
    guard locatorOffset >= UInt64(ZIP64DirectoryEnd.size),
      locator.offset <= locatorOffset - UInt64(ZIP64DirectoryEnd.size)
    else {
      throw .damaged(.zip64, entry: nil)
    }
    let record = try source.bytes(at: Int64(locator.offset), count: ZIP64DirectoryEnd.size)
    guard let found = ZIP64DirectoryEnd(record.span.bytes), found.fullSize == locatorOffset - locator.offset
    else {
      throw .damaged(.zip64, entry: nil)
    }
    guard found.disk == 0, found.directoryDisk == 0, found.count == found.countOnDisk else {
      throw .severalDisks
    }
    return (found, locator.offset)
  }
}

extension DirectoryEnd {
  /// Whether each field agrees with the ZIP64 record, or refers to it.
  func agrees(with long: ZIP64DirectoryEnd) -> Bool {
    [disk, directoryDisk].allSatisfy { $0 == 0 || $0 == ZIP64.mark16 }
      && [count, countOnDisk].allSatisfy { $0 == ZIP64.mark16 || UInt64($0) == long.count }
      && (directorySize == ZIP64.mark32 || UInt64(directorySize) == long.directorySize)
      && (directoryOffset == ZIP64.mark32 || UInt64(directoryOffset) == long.directoryOffset)
  }
}
