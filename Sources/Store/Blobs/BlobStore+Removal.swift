import System

// How bytes go that nothing needs, while others may be about to need them again.
//
// A publisher is told that bytes are there, and commits a release with them later: what it was told is a reservation,
// which gc keeps for a while. Rows are removed while gc's thread has the one connection that writes; whoever makes a
// reservation at that moment waits for the end of it, and then looks. Before that connection is given back, the files of
// those rows are marked as beingRemoved, but for those that a release is placing: a release that comes to place one later
// waits until it is gone. So the files themselves go beside releases.
extension BlobStore {
  /// How long a reservation lasts whose release doesn't come: 1 h, in milliseconds.
  static let reservationTime: Int64 = 3600 * 1000

  /// Promises that those of `digests` whose bytes are stored stay for now; made before looking whether they are.
  /// - Returns: what `withdraw` knows these reservations by.
  @discardableResult
  func reserve(_ digests: some Swift.Collection<SHA256>) throws(StoreError) -> Int64 {
    activity.withLock { $0.note(clock()) }
    let stamp = state.withLock { state in
      state.lastReservation = max(clock(), state.lastReservation + 1)
      return state.lastReservation
    }
    var isRemoving = false
    var rest = digests[...]
    while !rest.isEmpty {
      // Downloads wait for this lock, too.
      let some = rest.prefix(Self.atOnce)
      rest = rest.dropFirst(Self.atOnce)
      let removing = state.withLock { state in
        for sha256 in some { state.reserved[sha256] = stamp }
        return state.isRemoving
      }
      isRemoving = isRemoving || removing
    }
    if isRemoving { try connections.writing { _ in } }
    return stamp
  }

  /// Takes reservations back of which the bytes turned out not to be stored, unless others made them again since: who names
  /// digests that nobody has keeps no memory.
  func withdraw(_ digests: some Sequence<SHA256>, _ stamp: Int64) {
    state.withLock { state in
      for sha256 in digests where state.reserved[sha256] == stamp { state.reserved[sha256] = nil }
    }
  }

  /// Digests that are looked up with the lock held once.
  static let atOnce = 1000

  /// Ends reservations: their release is made.
  func releaseReservations(_ digests: some Sequence<SHA256>) {
    state.withLock { state in for sha256 in digests { state.reserved[sha256] = nil } }
  }

  /// Removes blobs that no resource names: their rows, as one transaction; the files are then for `unlink`.
  /// - Returns: those whose rows are gone, and how many stay for a reservation.
  func removeRows(of digests: some Swift.Collection<SHA256>, now: Int64) throws(StoreError)
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

  /// Marks files under `blobs/` that no row names: placed for a release that was refused a day ago or by a process
  /// that is no more, or left by a removal that was cut off. They are then for `unlink`.
  /// - Returns: those that go, with their sizes.
  func markOrphans(_ digests: some Swift.Collection<SHA256>, now: Int64) throws(StoreError) -> [SHA256: Int64]
  {
    try connections.writing { (db) throws(StoreError) in
      // No release can commit while this thread has the connection.
      try db.refuseLeased(now: now)
      var sizes: [SHA256: Int64] = [:]
      for sha256 in digests where try BlobRow.find(sha256, in: db) == nil {
        let status = try StoreError.disk { () throws(SystemError) in try Kernel.status(folder.blob(sha256)) }
        guard let status else { continue }
        if status.modified / 1_000_000 <= now - Self.gracePeriod {
          state.withLock { $0.placed[sha256] = nil }
        }
        sizes[sha256] = status.size
      }
      let beingRemoved = markForRemoval(sizes.keys)
      return sizes.filter { beingRemoved.contains($0.key) }
    }
  }

  /// Forgets reservations that ran out.
  /// Those of publishes that go on stay, a day at most: a large one on a slow line may take longer than `reservationTime`.
  func expireReservations(now: Int64) {
    var limit = now - Self.reservationTime
    let activity = activity.withLock { $0 }
    if !activity.isOver(now), let begin = activity.limit(now) {
      limit = min(limit, max(begin, now - Self.gracePeriod))
    }
    state.withLock { state in state.reserved = state.reserved.filter { $0.value > limit } }
  }

  /// Marks files as beingRemoved, but for those that a release is about to count on; called with the writing connection.
  @discardableResult
  private func markForRemoval(_ digests: some Swift.Collection<SHA256>) -> Set<SHA256> {
    state.withLock { state in
      let beingRemoved = digests.filter {
        state.placed[$0] == nil && state.placing[$0] == nil && state.named[$0] == nil
          && !state.arriving.contains($0) && !state.leaving.contains($0)
      }
      state.beingRemoved.formUnion(beingRemoved)
      for sha256 in beingRemoved { state.verified[sha256] = nil }
      return Set(beingRemoved)
    }
  }

  /// Removes the files that are marked as beingRemoved.
  ///
  /// On file systems mounted with `discard` each waits for the disk (measured: 0.8 ms), one behind the other; several
  /// threads wait at once (0.1 ms). What fails stays on the disk, an orphan for the next round.
  func unlink() throws(StoreError) {
    let beingRemoved = Array(state.withLock { $0.beingRemoved })
    defer { state.withLock { $0.beingRemoved.subtract(beingRemoved) } }
    try StoreError.disk { () throws(SystemError) in
      let threads = min(Self.mostThreads, 1 + beingRemoved.count / Self.filesForAThread)
      try Parallel.forEach(beingRemoved.count, threads: threads) { [self] (index) throws(SystemError) in
        try disk.before("unlink", folder.blob(beingRemoved[index]))
        try folder.remove(folder.blob(beingRemoved[index]), as: beingRemoved[index].hex, now: clock())
      }
    }
  }

  /// Removes files that were made under `blobs/` before `limit`, in milliseconds since 1970, and that no release took; not
  /// those that a publisher was told are there.
  /// - Returns: their sizes.
  func sweepNamed(before limit: Int64) throws(StoreError) -> [Int64] {
    let left = try leftNames(before: limit)
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

  /// Files under `blobs/` that no row names and this process knows nothing of; nil where none is to be looked for: no process
  /// left its mark, or some of what the mark is about is younger than `limit`.
  private func leftNames(before limit: Int64) throws(StoreError) -> [SHA256]? {
    let mark = try StoreError.disk { () throws(SystemError) in try Kernel.status(folder.unreleased) }
    guard let mark, mark.modified / 1_000_000 <= limit - Self.betweenMarks else { return nil }
    // The files first: one that is listed and has no row afterwards belongs to no release that was acknowledged.
    let files = try files()
    let rows = try connections.reading(BlobRow.names)
    return state.withLock { state in files.filter { !rows.contains($0) && state.named[$0] == nil } }
  }

  /// Removes the mark, unless files are being made again.
  private func removeMark(before limit: Int64) throws(StoreError) {
    try StoreError.disk { () throws(SystemError) in
      try state.withLock { (state) throws(SystemError) in
        if state.markedAt <= limit - Self.betweenMarks { try Kernel.remove(folder.unreleased) }
      }
    }
  }

  /// Removes a file under `blobs/` that no release took, unless somebody counts on it; whoever places one of its name from
  /// here on waits until it is gone.
  /// - Parameter isReserved: whether it goes though a publisher was told that its bytes are there, somewhere else.
  /// - Returns: whether it is gone.
  func removeUnreleased(_ sha256: SHA256, isReserved: Bool = false) throws(StoreError) -> Bool {
    let isFree = state.withLock { state in
      guard isReserved ? state.named[sha256] == nil : state.reserved[sha256] == nil,
        state.placing[sha256] == nil, state.placed[sha256] == nil, !state.arriving.contains(sha256),
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

  private static let filesForAThread = 50
  private static let mostThreads = 8

  /// Removes files, not folders, that were set aside as damaged and are whole again, or that nothing names.
  /// - Returns: their sizes.
  func sweepQuarantine() throws(StoreError) -> [Int64] {
    var sizes: [Int64] = []
    for name in try StoreError.disk({ () throws(SystemError) in try Folder.textNames(folder.quarantine) }) {
      guard let sha256 = SHA256(hex: String(name.prefix(64))) else { continue }
      if try row(of: sha256)?.isQuarantined ?? false { continue }
      try StoreError.disk { () throws(SystemError) in
        let path = "\(folder.quarantine)/\(name)"
        let status = try Kernel.status(path, followLinks: false)
        // What somebody put into a blob's place isn't this program's to remove.
        guard status?.kind != .folder else { return }
        sizes.append(status?.size ?? 0)
        try Kernel.remove(path)
      }
    }
    return sizes
  }
}
