import Glibc
import Platform

extension BlobStore {
  /// Takes over a checked file: whole files wait for their release, and a quarantined blob is whole again.
  func accept(_ digest: FileDigest, from path: String) throws(StoreError) -> IncomingBlob.Result {
    let sha256 = digest.sha256
    try promise([sha256])
    let row = try connections.reading { (db) throws(StoreError) in try Self.row(of: sha256, in: db) }
    if let row, !row.isQuarantined { return .alreadyThere }
    if state.withLock({ $0.placed[sha256] != nil || $0.whole[sha256] != nil }) { return .alreadyThere }
    try StoreError.disk { () throws(SystemError) in try disk.rename(path, to: folder.whole(sha256)) }
    state.withLock { state in
      state.forgetWhole(sha256)
      state.whole[sha256] = digest
    }
    if row != nil { try heal(sha256) }
    return .stored
  }

  /// Puts a new file in the place of a quarantined one.
  private func heal(_ sha256: SHA256) throws(StoreError) {
    try place([sha256])
    try connections.writing { (db) throws(StoreError) in
      try db.run("UPDATE blob SET quarantined_at = NULL, checked_at = ? WHERE sha256 = ?", clock(), sha256)
    }
    state.withLock { state in
      state.placed[sha256] = nil
      state.verified[sha256] = nil
    }
    changes.changed()
  }

  /// Those of `digests` whose bytes must be sent before a release can name them, in order.
  func missing(of digests: [SHA256]) throws(StoreError) -> [SHA256] {
    try promise(digests)
    let unstored = try connections.reading { (db) throws(StoreError) in
      var unstored: [SHA256] = []
      for sha256 in digests where try Self.row(of: sha256, in: db)?.isQuarantined ?? true {
        unstored.append(sha256)
      }
      return unstored
    }
    var missing: [SHA256] = []
    for sha256 in unstored where try waiting(sha256) == nil { missing.append(sha256) }
    return missing
  }

  /// What is known of a file that arrived and has no row yet; nil where there is none.
  func waiting(_ sha256: SHA256) throws(StoreError) -> FileDigest? {
    let (known, isUnchecked) = state.withLock { state in
      (state.placed[sha256] ?? state.whole[sha256], state.unchecked.contains(sha256))
    }
    return known == nil && isUnchecked ? try recheck(sha256) : known
  }

  /// Hashes a whole file from before the start; one that went wrong is removed.
  private func recheck(_ sha256: SHA256) throws(StoreError) -> FileDigest? {
    let path = folder.whole(sha256)
    let digest = try StoreError.disk { () throws(SystemError) -> FileDigest? in
      guard let file = try Kernel.openExisting(path, O_RDONLY) else { return nil }
      let digest = try Self.digest(of: file)
      if digest.sha256 == sha256 { return digest }
      try Kernel.remove(path)
      return nil
    }
    state.withLock { state in
      state.forgetWhole(sha256)
      state.whole[sha256] = digest
    }
    return digest
  }
}
