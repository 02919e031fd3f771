extension Archive {
  /// The ZIP64 end of the directory and where it begins; nil where no locator stands before the last record.
  static func zip64End(
    of source: any ArchiveSource, before end: UInt64
  ) throws(ArchiveError) -> (end: ZIP64DirectoryEnd, offset: UInt64)? {
    guard end >= UInt64(ZIP64Locator.size) else { return nil }
    let place = end - UInt64(ZIP64Locator.size)
    let bytes = try source.bytes(at: Int64(place), count: ZIP64Locator.size)
    guard let locator = ZIP64Locator(bytes.span.bytes) else { return nil }
    guard locator.disk == 0, locator.disks == 1 else { throw .severalDisks }
    guard place >= UInt64(ZIP64DirectoryEnd.size), locator.offset <= place - UInt64(ZIP64DirectoryEnd.size)
    else {
      throw .damaged(.zip64, entry: nil)
    }
    let record = try source.bytes(at: Int64(locator.offset), count: ZIP64DirectoryEnd.size)
    guard let found = ZIP64DirectoryEnd(record.span.bytes), found.fullSize == place - locator.offset else {
      throw .damaged(.zip64, entry: nil)
    }
    guard found.disk == 0, found.directoryDisk == 0, found.count == found.countOnDisk else {
      throw .severalDisks
    }
    return (found, locator.offset)
  }
}

extension DirectoryEnd {
  /// Whether each field says what the ZIP64 record says, or leaves it to that one.
  func agrees(with long: ZIP64DirectoryEnd) -> Bool {
    [disk, directoryDisk].allSatisfy { $0 == 0 || $0 == ZIP64.mark16 }
      && [count, countOnDisk].allSatisfy { $0 == ZIP64.mark16 || UInt64($0) == long.count }
      && (directorySize == ZIP64.mark32 || UInt64(directorySize) == long.directorySize)
      && (directoryOffset == ZIP64.mark32 || UInt64(directoryOffset) == long.directoryOffset)
  }
}
