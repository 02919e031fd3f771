import System

/// The digests of files as they were when last read, so that what didn't change isn't read again.
///
/// A file counts as unchanged when device, inode, size, mtime and ctime are: ctime can't be set back by any
/// program. The clock of a file system ticks in milliseconds, so a file that changed within the last 2 s before it
/// was read may change once more without a new ctime: its digest isn't kept.
package struct HashCache: Sendable {
  /// Nanoseconds that a ctime must lie back.
  static let settling: Int64 = 2_000_000_000

  /// One record a file, by device and inode:
  /// device, inode, size, mtime, ctime (8 bytes each, little-endian), md5 (16), sha256 (32).
  private static let width = 5 * 8 + MD5.byteCount + SHA256.byteCount

  private var records: [UInt8]
  private var count: Int { records.count / HashCache.width }

  package init() { records = [] }

  /// Records as `bytes` wrote them; nil where they can't be.
  init?(records: [UInt8]) {
    guard records.count % HashCache.width == 0 else { return nil }
    self.records = records
  }

  /// The records of `files`, but for those that changed less than 2 s before `now`, in nanoseconds since 1970.
  init(_ files: [(status: FileStatus, digest: FileDigest)], now: Int64) {
    let settled = files.filter { $0.status.changed <= now - HashCache.settling }
      .sorted { ($0.status.device, $0.status.inode) < ($1.status.device, $1.status.inode) }
    var records: [UInt8] = []
    records.reserveCapacity(settled.count * HashCache.width)
    var last: (UInt64, UInt64)?
    for (status, digest) in settled {
      // One file under two names.
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

  /// The digest of the file's bytes, when they were read in the state that `status` tells.
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
