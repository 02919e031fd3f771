import Glibc
import Platform

// How bytes go that nothing needs, while others may be about to need them again.
//
// A publisher is told that bytes are there, and commits a release with them later: what it was told is a promise,
// which gc keeps for a while. A removal happens while its thread has the one connection that writes; whoever makes a
// promise at that moment waits for the end of it, and then looks. A file goes after its row, under the lock that
// tells which files are being placed: a name under blobs/ that a release is about to count on is never removed.
extension BlobStore {
  /// How long a promise lasts whose release doesn't come: 1 h, in milliseconds.
  static let promiseTime: Int64 = 3600 * 1000

  /// Promises that those of `digests` whose bytes are stored stay for now; made before looking whether they are.
  func promise(_ digests: some Sequence<SHA256>) throws(StoreError) {
    let now = clock()
    let isRemoving = state.withLock { state in
      for sha256 in digests { state.promised[sha256] = now }
      return state.isRemoving
    }
    if isRemoving { try connections.writing { _ in } }
  }

  /// Ends promises: their release is made.
  func endPromises(_ digests: some Sequence<SHA256>) {
    state.withLock { state in for sha256 in digests { state.promised[sha256] = nil } }
  }

  /// Removes blobs that no resource names, rows first.
  /// - Returns: those removed, and how many stay for a promise.
  func remove(_ digests: [SHA256], now: Int64) throws(StoreError) -> (removed: Set<SHA256>, promised: Int) {
    try connections.writing { (db) throws(StoreError) in
      let (free, promised) = state.withLock { state in
        state.isRemoving = true
        state.promised = state.promised.filter { $0.value > now - Self.promiseTime }
        let free = digests.filter { state.promised[$0] == nil }
        return (free, digests.count - free.count)
      }
      defer { state.withLock { $0.isRemoving = false } }
      let gone = try db.write { () throws(StoreError) in
        try db.refuseLeased(now: now)
        var gone: Set<SHA256> = []
        for sha256 in free {
          let row = try db.value(
            Int64.self,
            """
            DELETE FROM blob WHERE sha256 = ?
            AND NOT EXISTS (SELECT 1 FROM resource WHERE blob_id = blob.id) RETURNING 1
            """, sha256)
          if row != nil { gone.insert(sha256) }
        }
        return gone
      }
      for sha256 in gone { _ = try unlink(sha256) }
      return (gone, promised)
    }
  }

  /// Removes files under `blobs/` that no row names: placed for a release that was refused a day ago or by a process
  /// that is no more, or left by a removal that was cut off.
  /// - Returns: the sizes of those removed.
  func removeOrphans(_ digests: some Sequence<SHA256>, now: Int64) throws(StoreError) -> [Int64] {
    try connections.writing { (db) throws(StoreError) in
      // No release can commit while this thread has the connection.
      try db.refuseLeased(now: now)
      var sizes: [Int64] = []
      for sha256 in digests where try Self.row(of: sha256, in: db) == nil {
        let status = try StoreError.disk { () throws(SystemError) in try Kernel.status(folder.blob(sha256)) }
        guard let status else { continue }
        if status.modified / 1_000_000 <= now - Self.patience {
          state.withLock { $0.placed[sha256] = nil }
        }
        if try unlink(sha256) { sizes.append(status.size) }
      }
      return sizes
    }
  }

  /// Removes a blob's file, unless a release is about to count on it.
  private func unlink(_ sha256: SHA256) throws(StoreError) -> Bool {
    let path = folder.blob(sha256)
    try StoreError.disk { () throws(SystemError) in try disk.before("unlink", path) }
    let outcome = state.withLock { state -> Result<Bool, SystemError> in
      guard state.placed[sha256] == nil, state.placing[sha256] == nil else { return .success(false) }
      state.verified.remove(sha256)
      return Result { () throws(SystemError) in
        try Kernel.remove(path)
        return true
      }
    }
    return try StoreError.disk { () throws(SystemError) in try outcome.get() }
  }

  /// Removes files that were set aside as damaged and are whole again, or that nothing names.
  /// - Returns: their sizes.
  func sweepQuarantine() throws(StoreError) -> [Int64] {
    var sizes: [Int64] = []
    for name in try StoreError.disk({ () throws(SystemError) in try Folder.textNames(folder.quarantine) }) {
      guard let sha256 = SHA256(hex: String(name.prefix(64))) else { continue }
      let row = try connections.reading { (db) throws(StoreError) in try Self.row(of: sha256, in: db) }
      if let row, row.isQuarantined { continue }
      try StoreError.disk { () throws(SystemError) in
        let path = "\(folder.quarantine)/\(name)"
        sizes.append(try Kernel.status(path)?.size ?? 0)
        try Kernel.remove(path)
      }
    }
    return sizes
  }
}
