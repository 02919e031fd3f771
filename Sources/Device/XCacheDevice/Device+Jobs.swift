import Manifests
import System

/// A device's work besides serving pages, one job at a time.
extension Device {
  /// Runs a job once the previous one has ended.
  /// - Throws: `closed`, and whatever `body` throws.
  func job<Value: Sendable>(
    until signal: StopSignal = StopSignal(), _ body: () throws(DeviceError) -> Value
  ) throws(DeviceError) -> Value {
    try work.withLock { _ throws(DeviceError) in
      try gate.begin(signal, folder.root)
      defer { saveUses() }
      return try body()
    }
  }

  /// Finishes what a disk error interrupted, and makes the folder again if it was deleted. Each job begins with it.
  /// - Returns: the manifest in force.
  func mend() throws(DeviceError) -> DeviceIndex {
    let (isNew, index) = try mendCache()
    // They are still valid; the next poll writes them again.
    if isNew {
      documents.withLock { $0.unwritten = Set(DeviceDocuments.Kind.allCases) }
      // Another process that made the folder anew made an install id, too.
      let known = folder.savedRollout
      if let known { rollout.withLock { $0 = $0.id == known.id ? $0 : known } }
      savedRollout.withLock { $0 = known }
    }
    return index
  }

  private func mendCache() throws(DeviceError) -> (isNew: Bool, index: DeviceIndex) {
    do throws(DeviceError) {
      let mended = try cache.withLock { cache throws(DeviceError) in
        (try cache.mend(at: now()), cache.index)
      }
      displaced.withLock { $0 = false }
      return mended
    } catch {
      if case .inUse = error { displaced.withLock { $0 = true } }
      throw error
    }
  }

  /// Cancels the job that was started with `signal`, at the next chunk that it receives; returns at once.
  package func stop(_ signal: StopSignal) { gate.stop(signal) }

  /// Saves which files pages have used, if any were since the last save.
  package func saveUses() {
    // Another device may have opened the folder by then.
    guard cache.withLock({ $0.isOurs }) else { return }
    if let note = uses.takeNote() { try? folder.write(note, to: folder.uses) }
  }

  /// Removes files that were set aside too long ago, unless that was checked recently, and notices if another process has
  /// taken the folder.
  package func tidy() {
    if gate.isClosed { return }
    if !cache.withLock({ $0.isOurs }), folder.status(folder.lock) != nil { displaced.withLock { $0 = true } }
    try? cache.withLock { cache throws(DeviceError) in try cache.sweepIfDue(at: now()) }
    tidyScripts()
  }

  /// Cancels running jobs, saves the usage notes and releases the folder, which another device may then open.
  ///
  /// Blocks until that is done, so don't call it from a callback. A call that is fetching ends at the next chunk that it
  /// receives; every later call throws `closed`.
  public func close() {
    beginClosing()
    work.withLock { _ in releaseFolder() }
  }

  /// Cancels every fetch at its next chunk, and lets no new one begin.
  package func beginClosing() { gate.close() }

  /// Like `close()`, but doesn't wait for a job that is blocked on a server; whatever the job does later, it won't touch the
  /// folder.
  package func releaseFolder() {
    saveUses()
    cache.withLock { $0.close() }
  }

  /// Cache misses and evictions since the device was opened.
  package var counts: CacheCounts { cacheCounts.withLock { $0 } }
}

// MARK: - Pages that load

extension Device {
  /// Notes that a page begins to load: jobs pause until it has loaded or been quiet for a second, for ten seconds at most.
  package func pageOpens(_ page: UInt64) { gate.pageOpens(page) }

  /// Notes that a loading page requested something.
  package func pageAsks(_ page: UInt64) { gate.pageAsks(page) }

  /// Notes that a page has loaded, failed or been left.
  package func pageIsLoaded(_ page: UInt64) { gate.pageIsLoaded(page) }
}

// MARK: - The backlog

extension Device {
  /// Adds a listed file that is missing to the backlog. A failure to save that is harmless.
  package func addToBacklog(_ file: ListedFile) {
    cache.withLock { cache in
      let entry = file.entry
      guard cache.lists(entry), !cache.backlog.contains(entry) else { return }
      // Whoever clears caches doesn't tell this process.
      if cache.has(entry), folder.status(folder.file(entry.name)) == nil { try? cache.discard(entry) }
      if cache.has(entry) { return }
      try? cache.leave(Backlog([entry], []), for: cache.index)
    }
  }

  /// Fetches the files that updates left for later, if the conditions allow large updates.
  ///
  /// - Returns: the number of files fetched or copied.
  /// - Throws: `DeviceError`; files that arrived before it stay, and the rest remain in the backlog.
  @discardableResult
  public func fetchBacklog(progress: (@Sendable (Progress) -> Void)? = nil) throws(DeviceError) -> Int {
    try fetchBacklog(until: StopSignal(), progress: progress)
  }

  /// As above, but `stop(signal)` cancels it.
  package func fetchBacklog(
    until signal: StopSignal, progress: (@Sendable (Progress) -> Void)? = nil
  ) throws(DeviceError) -> Int {
    try job(until: signal) { () throws(DeviceError) in
      guard !gate.isStopped, gate.conditions.allowsLargeUpdates, cache.withLock({ !$0.backlog.isEmpty })
      else { return 0 }
      _ = try mend()
      defer { cache.withLock { $0.tidyNotes() } }
      return try fetchBacklogAlone(progress)
    }
  }

  private func fetchBacklogAlone(_ progress: (@Sendable (Progress) -> Void)?) throws(DeviceError) -> Int {
    var copied = CompletionReport()
    let absent = try copyingHeld(backlogEntries(), &copied)
    let wanted = fitting(absent)
    // A file without room would only evict files that are in use.
    let fits = Set(wanted.map(\.sha256))
    cache.withLock { cache in
      for entry in absent where !fits.contains(entry.sha256) { cache.giveUp(onBacklog: entry.sha256) }
    }
    let copies = copied.copied
    var left = wanted
    var failure: DeviceError?
    while !left.isEmpty, failure == nil {
      let failed = Locked<Set<SHA256>>([])
      do {
        try fetchBacklog(left, progress) { sha256 in failed.withLock { _ = $0.insert(sha256) } }
      } catch {
        let lasting = failed.withLock { $0 }
        // Files that failed for good are left to the network when a page requests them; the others can still be fetched.
        if lasting.isEmpty { failure = error }
        cache.withLock { cache in for sha256 in lasting { cache.giveUp(onBacklog: sha256) } }
      }
      left = left.filter { entry in cache.withLock { $0.backlog.contains(entry) && !$0.has(entry) } }
    }
    let came = wanted.filter { entry in cache.withLock { $0.has(entry) } }
    // Other URLs with the same bytes as a file that arrived.
    _ = try copyingHeld(backlogEntries(twins: Set(came.map(\.sha256))), &copied)
    if let failure { throw failure }
    return copies + came.count
  }

  /// Returns the listed entries in the backlog whose files are missing, one for each file.
  /// - Parameter twins: if given, all missing entries with one of these files are returned instead.
  private func backlogEntries(twins: Set<SHA256>? = nil) -> [HeldEntry] {
    let index = index
    var seen: Set<SHA256> = []
    return cache.withLock { cache in
      index.entries.filter { entry in
        if cache.has(entry) { return false }
        if let twins { return twins.contains(entry.sha256) }
        return cache.backlog.contains(entry) && seen.insert(entry.sha256).inserted
      }
    }
  }

  private func fetchBacklog(
    _ entries: [HeldEntry], _ progress: (@Sendable (Progress) -> Void)?,
    lasting: @escaping @Sendable (SHA256) -> Void
  ) throws(DeviceError) {
    let (index, folder, cache, gate, now) = (index, folder, cache, gate, now)
    let offers = entries.compactMap { entry in cache.withLock { $0.backlog.offer(for: entry) } }
    var fetcher = fetcher(for: index.version)
    fetcher.deltas = try deltaBook(offers, from: index)
    let report = fetcher.failed
    fetcher.failed = { entry, error in
      if error.isLasting { lasting(entry.sha256) }
      report(entry, error)
    }
    var run = FetchRun(fetcher: fetcher, gate: gate, progress: progress)
    run.shouldContinue = { gate.conditions.allowsLargeUpdates }
    _ = try run.run(entries, to: { folder.staged($0.sha256) }) { entry throws(DeviceError) in
      try cache.withLock { cache throws(DeviceError) in
        try cache.place(folder.staged(entry.sha256), for: entry, at: now())
      }
    }
  }
}
