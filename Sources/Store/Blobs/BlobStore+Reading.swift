import Glibc
import Platform

extension BlobStore {
  /// A blob's row.
  struct Row {
    let id: Int64
    let digest: FileDigest
    let isQuarantined: Bool
  }

  static func row(of sha256: SHA256, in db: Database) throws(StoreError) -> Row? {
    try db.first("SELECT id, md5, size, quarantined_at FROM blob WHERE sha256 = ?", sha256) { row in
      Row(
        id: row.get(0), digest: FileDigest(md5: row.get(1), sha256: sha256, size: row.get(2)),
        isQuarantined: !row.isNull(3))
    }
  }

  /// Opens a blob; the first time since the start its bytes are hashed (guarantee 7).
  /// - Throws: `unknownBlob`; `corruptBlob` when its bytes are others, and it is set aside.
  func open(_ sha256: SHA256) throws(StoreError) -> StoredBlob {
    guard
      let file = try StoreError.disk({ () throws(SystemError) in
        try Kernel.openExisting(folder.blob(sha256), O_RDONLY)
      })
    else { throw try absent(sha256) }
    let isVerified = state.withLock { $0.verified.contains(sha256) }
    if !isVerified { try verify(sha256, file) }
    let size = try StoreError.disk { () throws(SystemError) in try Kernel.status(file).size }
    return StoredBlob(file: file, size: size)
  }

  /// Every blob that counts as good, with its size, in the order in which they were stored.
  func all() throws(StoreError) -> [(SHA256, Int64)] {
    try connections.reading { (db) throws(StoreError) in
      try db.all("SELECT sha256, size FROM blob WHERE quarantined_at IS NULL ORDER BY id") {
        ($0.get(0), $0.get(1))
      }
    }
  }

  /// Hashes a blob whether or not it was hashed before, as the daily scrub does.
  func scrub(_ sha256: SHA256) throws(StoreError) {
    state.withLock { _ = $0.verified.remove(sha256) }
    _ = try open(sha256)
  }

  /// The error for a blob whose file isn't there; a row that says otherwise is marked.
  private func absent(_ sha256: SHA256) throws(StoreError) -> StoreError {
    let row = try connections.reading { (db) throws(StoreError) in try Self.row(of: sha256, in: db) }
    guard row != nil else { return .unknownBlob(sha256) }
    try quarantine(sha256)
    return .corruptBlob(sha256)
  }

  private func verify(_ sha256: SHA256, _ file: borrowing Descriptor) throws(StoreError) {
    let found: FileDigest
    do {
      found = try Self.digest(of: file)
    } catch  where error.code == EIO {
      try quarantine(sha256)
      throw .corruptBlob(sha256)
    } catch {
      throw StoreError(error)
    }
    guard found.sha256 == sha256 else {
      try quarantine(sha256)
      throw .corruptBlob(sha256)
    }
    state.withLock { _ = $0.verified.insert(sha256) }
  }

  /// Sets a bad blob aside and marks its row, so that it counts as missing and can be sent again.
  private func quarantine(_ sha256: SHA256) throws(StoreError) {
    let now = clock()
    try connections.writing { (db) throws(StoreError) in
      try db.run(
        "UPDATE blob SET quarantined_at = ? WHERE sha256 = ? AND quarantined_at IS NULL", now, sha256)
    }
    try StoreError.disk { () throws(SystemError) in
      guard try Kernel.status(folder.blob(sha256)) != nil else { return }
      try disk.rename(folder.blob(sha256), to: "\(folder.quarantine)/\(sha256.hex)-\(now)")
    }
  }
}
