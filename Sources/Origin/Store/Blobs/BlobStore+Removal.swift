import System

// How unneeded files are removed while others may be about to need them again.
//
// A publisher is told that bytes are stored, and commits a release with them later: what it was told is a reservation,
// which gc respects for a while. Rows are removed while gc's thread has the one writing connection; whoever makes a
// reservation at that moment waits until that is over, and then looks. Before that connection is given back, the files
// of those rows are marked as beingRemoved, except those that a release is persisting. A release that persists one later
// waits until it is gone, so the files can be removed concurrently with releases.
extension BlobStore {
  /// How long a reservation lasts if its release doesn't come: 1 h, in milliseconds.
  static let reservationTime: Int64 = 3600 * 1000

  /// Promises that those of `digests` that are stored stay for now. Call this before checking whether they are.
  /// - Returns: the stamp that `withdraw` takes.
  @discardableResult
  func reserve(_ digests: some Collection<SHA256>) throws(StoreError) -> Int64 {
    activity.withLock { $0.note(clock()) }
    let stamp = state.withLock { state in
      state.lastReservation = max(clock(), state.lastReservation + 1)
      return state.lastReservation
    }
    var isRemoving = false
    var rest = digests[...]
    while !rest.isEmpty {
      // Downloads also wait for this lock.
      let some = rest.prefix(Self.batchSize)
      rest = rest.dropFirst(Self.batchSize)
      let removing = state.withLock { state in
        for sha256 in some { state.reserved[sha256] = stamp }
        return state.isRemoving
      }
      isRemoving = isRemoving || removing
    }
    if isRemoving { try connections.writing { _ in } }
    return stamp
  }

  /// Withdraws the reservations of bytes that turned out not to be stored, unless others have renewed them. So naming
  /// digests that nobody has uses no memory.
  func withdraw(_ digests: some Sequence<SHA256>, _ stamp: Int64) {
    state.withLock { state in
      for sha256 in digests where state.reserved[sha256] == stamp { state.reserved[sha256] = nil }
    }
  }

  /// Digests that are looked up per acquisition of the lock.
  static let batchSize = 1000

  /// Ends the reservations of a release that was made.
  func releaseReservations(_ digests: some Sequence<SHA256>) {
    state.withLock { state in for sha256 in digests { state.reserved[sha256] = nil } }
  }

  /// Deletes the rows of blobs that no resource names, in one transaction; `unlink` then removes the files.
  /// - Returns: the blobs whose rows were deleted, and how many stay because they are reserved.
  func removeRows(of digests: some Collection<SHA256>, now: Int64) throws(StoreError)
    -> (removed: Set<SHA256>, reserved: Int)
  {
    try connections.urgently { (db) throws(StoreError) in
      let free = state.withLock { state in
        state.isRemoving = true
        return digests.filter { state.reserved[$0] == nil }
      }
      defer { state.withLock { $0.isRemoving = false } }
      let gone = try db.write { () throws(StoreError) in
        try db.refuseLeased(now: now)
        var gone: Set<SHA256> = []
        for sha256 in free where try BlobRow.deleteUnneeded(sha256, in: db) { gone.insert(sha256) }
        return gone
      }
      markForRemoval(gone)
      return (gone, digests.count - free.count)
    }
  }

  /// Marks files under `blobs/` that no row names: persisted for a release that was refused a day ago or by a process that
  /// has ended, or left by an interrupted removal. `unlink` then removes them.
  /// - Returns: the marked files, with their sizes.
  func markOrphans(_ digests: some Collection<SHA256>, now: Int64) throws(StoreError) -> [SHA256: Int64] {
    try connections.writing { (db) throws(StoreError) in
      // No release can commit while this thread has the connection.
      try db.refuseLeased(now: now)
      var sizes: [SHA256: Int64] = [:]
      for sha256 in digests where try BlobRow.find(sha256, in: db) == nil {
        let status = try StoreError.disk { () throws(SystemError) in try Kernel.status(folder.blob(sha256)) }
        guard let status else { continue }
        if status.modified / 1_000_000 <= now - Self.gracePeriod {
          state.withLock { $0.persisted[sha256] = nil }
        }
        sizes[sha256] = status.size
      }
      let beingRemoved = markForRemoval(sizes.keys)
      return sizes.filter { beingRemoved.contains($0.key) }
    }
  }

  /// Forgets reservations that ran out. Those of publishes in progress stay, up to a day: a large publish over a slow
  /// connection may take longer than `reservationTime`.
  func expireReservations(now: Int64) {
    var limit = now - Self.reservationTime
    let activity = activity.withLock { $0 }
    if !activity.isOver(now), let begin = activity.limit(now) {
      limit = min(limit, max(begin, now - Self.gracePeriod))
    }
    state.withLock { state in state.reserved = state.reserved.filter { $0.value > limit } }
  }

  /// Marks files as beingRemoved, except those that a release is about to use; called with the writing connection.
  @discardableResult
  private func markForRemoval(_ digests: some Collection<SHA256>) -> Set<SHA256> {
    checks.withLock { checks in for sha256 in digests { checks[sha256] = nil } }
    return state.withLock { state in
      let beingRemoved = digests.filter {
        state.persisted[$0] == nil && state.persisting[$0] == nil && state.named[$0] == nil
          && !state.arriving.contains($0) && !state.leaving.contains($0)
      }
      state.beingRemoved.formUnion(beingRemoved)
      for sha256 in beingRemoved { state.verified[sha256] = nil }
      return Set(beingRemoved)
    }
  }

  /// Removes the files that are marked as beingRemoved.
  ///
  /// On file systems mounted with `discard`, each removal waits for the disk (measured: 0.8 ms); with several threads
  /// the waits overlap (0.1 ms). A file whose removal fails stays on the disk, an orphan for the next round.
  func unlink() throws(StoreError) {
    let beingRemoved = Array(state.withLock { $0.beingRemoved })
    defer { state.withLock { $0.beingRemoved.subtract(beingRemoved) } }
    try StoreError.disk { () throws(SystemError) in
      let threads = min(Self.maxThreads, 1 + beingRemoved.count / Self.filesPerThread)
      try Parallel.forEach(beingRemoved.count, threads: threads) { [self] (index) throws(SystemError) in
        try disk.before("unlink", folder.blob(beingRemoved[index]))
        try folder.remove(folder.blob(beingRemoved[index]), as: beingRemoved[index].hex, now: clock())
      }
    }
  }

  /// Removes files that were created under `blobs/` before `limit`, in milliseconds since 1970, and that no release
  /// used, except those that a publisher was told are stored.
  /// - Returns: their sizes.
  func sweepNamed(before limit: Int64) throws(StoreError) -> [Int64] {
    let left = try leftoverFiles(before: limit)
    var sizes: [Int64] = []
    var areGone = true
    for sha256 in state.withLock({ Array($0.named.keys) }) + (left ?? []) {
      let path = folder.blob(sha256)
      let status = try StoreError.disk { () throws(SystemError) in try Kernel.status(path, followLinks: false)
      }
      guard let status else { continue }
      guard status.modified / 1_000_000 <= limit, try removeUnreleased(sha256) else {
        areGone = false
        continue
      }
      if status.kind == .file { sizes.append(status.size) }
    }
    if left != nil, areGone { try removeMark(before: limit) }
    return sizes
  }

  /// Files under `blobs/` that no row names and this process doesn't know; nil if there is nothing to look for, because
  /// no process left its mark or the mark covers files younger than `limit`.
  private func leftoverFiles(before limit: Int64) throws(StoreError) -> [SHA256]? {
    let mark = try StoreError.disk { () throws(SystemError) in try Kernel.status(folder.unreleased) }
    guard let mark, mark.modified / 1_000_000 <= limit - Self.markInterval else { return nil }
    // List the files before reading the rows: a file without a row then belongs to no acknowledged release.
    let files = try files()
    let rows = try connections.reading(BlobRow.names)
    return state.withLock { state in files.filter { !rows.contains($0) && state.named[$0] == nil } }
  }

  /// Removes the mark, unless files are being created again.
  private func removeMark(before limit: Int64) throws(StoreError) {
    try StoreError.disk { () throws(SystemError) in
      try state.withLock { (state) throws(SystemError) in
        if state.markedAt <= limit - Self.markInterval { try Kernel.remove(folder.unreleased) }
      }
    }
  }

  /// Removes a file under `blobs/` that no release used, unless something depends on it. Whoever places a file of that
  /// name from here on waits until it is gone.
  /// - Parameters:
  ///   - sha256: the file's name.
  ///   - isReserved: whether to remove it even if a publisher was told that its bytes are stored, which then are elsewhere.
  /// - Returns: whether it is gone.
  func removeUnreleased(_ sha256: SHA256, isReserved: Bool = false) throws(StoreError) -> Bool {
    let isFree = state.withLock { state in
      guard isReserved ? state.named[sha256] == nil : state.reserved[sha256] == nil,
        state.persisting[sha256] == nil, state.persisted[sha256] == nil, !state.arriving.contains(sha256),
        !state.isLeaving(sha256)
      else { return false }
      state.named[sha256] = nil
      state.leaving.insert(sha256)
      return true
    }
    guard isFree else { return false }
    defer { state.withLock { _ = $0.leaving.remove(sha256) } }
    // A release that was made meanwhile has given it a row.
    guard try row(of: sha256) == nil else { return false }
    try StoreError.disk { () throws(SystemError) in
      try folder.remove(folder.blob(sha256), as: sha256.hex, now: clock())
    }
    return true
  }

  private static let filesPerThread = 50
  private static let maxThreads = 8

  /// Removes files, but not folders, from quarantine that are whole again or that nothing names.
  /// - Returns: their sizes.
  func sweepQuarantine() throws(StoreError) -> [Int64] {
    var sizes: [Int64] = []
    for name in try StoreError.disk({ () throws(SystemError) in try Folder.textNames(folder.quarantine) }) {
      guard let sha256 = SHA256(hex: String(name.prefix(64))) else { continue }
      if try row(of: sha256)?.isQuarantined ?? false { continue }
      try StoreError.disk { () throws(SystemError) in
        let path = "\(folder.quarantine)/\(name)"
        let status = try Kernel.status(path, followLinks: false)
        // A folder that was put in a blob's place isn't this program's to remove.
        guard status?.kind != .folder else { return }
        sizes.append(status?.size ?? 0)
        try Kernel.remove(path)
      }
    }
    return sizes
  }
}
