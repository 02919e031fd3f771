import System

/// The digests of files as last read, so that unchanged files aren't read again.
///
/// A file counts as unchanged if device, inode, size, mtime and ctime are: no program can set ctime. File system
/// timestamps tick in milliseconds, so a file that changed less than 2 s before it was read could change again with the
/// same ctime: its digest isn't stored.
package struct HashCache: Sendable {
  /// How old a ctime must be, in nanoseconds.
  static let settling: Int64 = 2_000_000_000

  /// The size of a record. There is one per file, sorted by device and inode:
  /// device, inode, size, mtime, ctime (8 bytes each, little-endian), md5 (16), sha256 (32).
  private static let width = 5 * 8 + MD5.byteCount + SHA256.byteCount

  private var records: [UInt8]
  private var count: Int { records.count / HashCache.width }

  package init() { records = [] }

  /// Creates a cache from records that `bytes` wrote; nil if they are invalid.
  init?(records: [UInt8]) {
    guard records.count % HashCache.width == 0 else { return nil }
    self.records = records
  }

  /// Creates records for `files`, except those that changed less than 2 s before `now`, in nanoseconds since 1970.
  init(_ files: [(status: FileStatus, digest: FileDigest)], now: Int64) {
    let settled = files.filter { $0.status.changed <= now - HashCache.settling }
      .sorted { ($0.status.device, $0.status.inode) < ($1.status.device, $1.status.inode) }
    var records: [UInt8] = []
    records.reserveCapacity(settled.count * HashCache.width)
    var last: (UInt64, UInt64)?
    for (status, digest) in settled {
      // The same file under two names.
      if let last, last == (status.device, status.inode) { continue }
      last = (status.device, status.inode)
      for word in HashCache.words(of: status) { ByteCoding.append(word, to: &records) }
      digest.md5.withBytes { records.append(contentsOf: $0) }
      digest.sha256.withBytes { records.append(contentsOf: $0) }
    }
    self.records = records
  }

  var bytes: [UInt8] { records }

  static func words(of status: FileStatus) -> [UInt64] {
    [
      status.device, status.inode, UInt64(bitPattern: status.size), UInt64(bitPattern: status.modified),
      UInt64(bitPattern: status.changed),
    ]
  }

  /// Returns the digest of a file's contents if it was read with the same status.
  package func digest(of status: FileStatus) -> FileDigest? {
    records.withUnsafeBytes { bytes in
      var low = 0
      var high = count
      while low < high {
        let middle = (low + high) / 2
        let at = middle * HashCache.width
        let key = (ByteCoding.word(bytes, at), ByteCoding.word(bytes, at + 8))
        if key == (status.device, status.inode) { return HashCache.digest(bytes, at, status) }
        if key < (status.device, status.inode) { low = middle + 1 } else { high = middle }
      }
      return nil
    }
  }

  private static func digest(_ bytes: UnsafeRawBufferPointer, _ at: Int, _ status: FileStatus) -> FileDigest?
  {
    guard ByteCoding.word(bytes, at + 16) == UInt64(bitPattern: status.size),
      ByteCoding.word(bytes, at + 24) == UInt64(bitPattern: status.modified),
      ByteCoding.word(bytes, at + 32) == UInt64(bitPattern: status.changed)
    else { return nil }
    let digests = UnsafeRawBufferPointer(rebasing: bytes[(at + 40)..<(at + width)])
    let split = MD5.byteCount
    guard let md5 = MD5(bytes: UnsafeRawBufferPointer(rebasing: digests[..<split]).bytes),
      let sha256 = SHA256(bytes: UnsafeRawBufferPointer(rebasing: digests[split...]).bytes)
    else { return nil }
    return FileDigest(md5: md5, sha256: sha256, size: status.size)
  }
}
