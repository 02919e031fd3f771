import Glibc
import Platform

/// What the scrub found of a file.
package enum ScrubResult: Equatable, Sendable {
  case good
  /// Its bytes are others, or can't be read: it was set aside, or dropped where it can be made again.
  case bad
  /// It isn't there any more, and nothing needs it.
  case gone
  /// The reader was told to stop.
  case stopped
  /// It couldn't be read, nor set aside where it is bad, for a reason that isn't its bytes': nothing is known of them.
  case failed(SystemError)
}

extension BlobStore {
  /// Reads a blob from the disk, whether or not it was hashed before, and sets a bad one aside.
  ///
  /// Read once more before it is set aside: a bad cable or a bit of the reader's memory isn't the file.
  /// - Parameter goesOn: asked after each slice, with its bytes; false ends it.
  func scrub(_ sha256: SHA256, _ goesOn: (Int) -> Bool) throws(StoreError) -> ScrubResult {
    var found = DiskDigest.Result.missing
    for _ in 0..<2 {
      found = try StoreError.disk { () throws(SystemError) in
        try DiskDigest.of(folder.blob(sha256), goesOn: goesOn)
      }
      switch found {
      case .stopped: return .stopped
      case .read(sha256, _): return .good
      default: continue
      }
    }
    switch found {
    case .read(_, let inode), .unreadable(let inode):
      return try quarantine(sha256, inode: inode) ? .bad : .good
    case .missing:
      guard try counts(sha256) else { return .gone }
      return try quarantine(sha256, inode: nil) ? .bad : .good
    case .stopped: return .stopped
    }
  }

  /// Sets a bad blob aside and marks its row, so that it counts as missing and can be sent again.
  ///
  /// - Parameter inode: of what was found bad, a file or what stands in its place; nil where none was there.
  /// - Returns: false where another file has its name by now, because the right bytes came meanwhile.
  func quarantine(_ sha256: SHA256, inode: UInt64?) throws(StoreError) -> Bool {
    let now = clock()
    let path = folder.blob(sha256)
    // Setting aside is for the process that has the folder, whose loops may have the file open.
    if isBeside { return true }
    // First of all: from here on nobody opens it unhashed, whatever fails below.
    state.withLock { $0.verified[sha256] = nil }
    return try connections.writing { (db) throws(StoreError) in
      let there = try StoreError.disk { () throws(SystemError) in try Kernel.named(path)?.inode }
      guard there == inode else { return false }
      // Loops that have the file open let go of it, also where the disk takes no more writes.
      defer { changes.blobIsBad() }
      try db.run(
        "UPDATE blob SET quarantined_at = ? WHERE sha256 = ? AND quarantined_at IS NULL", now, sha256)
      if inode != nil {
        try StoreError.disk { () throws(SystemError) in
          try disk.rename(path, to: "\(folder.quarantine)/\(sha256.hex)-\(now)")
        }
      }
      return true
    }
  }
}
