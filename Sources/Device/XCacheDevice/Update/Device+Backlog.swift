import Manifests
import System

/// What a job of the backlog has brought.
struct BacklogResult {
  /// Files that were fetched, or made from a first pack.
  var fetched = 0
  /// Files that were copied.
  var copied = 0
  /// The bytes received over the network.
  var bytes: Int64 = 0
  /// What came of a first pack; nil if there was none to take.
  var pack: PackReport?
}

/// The files that updates left for later.
extension Device {
  /// Adds a listed file that is missing to the backlog. A failure to save that is harmless.
  package func addToBacklog(_ file: ListedFile) {
    cache.withLock { cache in
      let entry = file.entry
      guard cache.lists(entry), !cache.backlog.contains(entry) else { return }
      // Whoever clears caches doesn't tell this process.
      if cache.has(entry), folder.status(folder.file(entry.name)) == nil { try? cache.discard(entry) }
      if cache.has(entry) { return }
      try? cache.addToBacklog(Backlog([entry], []))
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
      guard !gate.isJobStopped, gate.conditions.allowsLargeUpdates, cache.withLock({ !$0.backlog.isEmpty })
      else { return 0 }
      _ = try repair()
      var result = BacklogResult()
      try runBacklog(&result, progress)
      return result.fetched + result.copied
    }
  }

  /// The job of the backlog: takes a first pack, copies what is held, and fetches the rest until it is done or something else than
  /// a file fails.
  func runBacklog(
    _ result: inout BacklogResult, _ progress: (@Sendable (Progress) -> Void)?
  ) throws(DeviceError) {
    defer { cache.withLock { $0.tidyNotes() } }
    try takeFirstPack(&result, progress)
    // As much as a metered network takes of a first pack, the rest waits like that of any update.
    guard gate.conditions.allowsLargeUpdates else { return }
    var copied = CompletionReport()
    let absent = try supplyCopies(of: backlogEntries(), &copied)
    let wanted = fitting(absent)
    // A file without room would only evict files that are in use.
    let fits = Set(wanted.map(\.sha256))
    cache.withLock { cache in
      for entry in absent where !fits.contains(entry.sha256) { cache.removeFromBacklog(entry.sha256) }
    }
    result.copied += copied.copied
    var left = havingRoom(wanted)
    var failure: DeviceError?
    while !left.isEmpty, failure == nil {
      let failed = Locked<Set<SHA256>>([])
      do {
        result.bytes = result.bytes.addingClamped(
          try fetchBacklogEntries(left, progress) { sha256 in failed.withLock { _ = $0.insert(sha256) } })
      } catch {
        let lasting = failed.withLock { $0 }
        // Files that failed for good are left to the network when a page requests them; the others can still be fetched.
        if lasting.isEmpty { failure = error }
        cache.withLock { cache in for sha256 in lasting { cache.removeFromBacklog(sha256) } }
      }
      left = left.filter { entry in cache.withLock { $0.backlog.contains(entry) && !$0.has(entry) } }
    }
    let came = wanted.filter { entry in cache.withLock { $0.has(entry) } }
    // Other URLs with the same bytes as a file that arrived.
    _ = try supplyCopies(of: backlogEntries(twins: Set(came.map(\.sha256))), &copied)
    result.fetched += came.count
    if let failure { throw failure }
    // A first pack that couldn't be reached isn't needed any more.
    if folder.pendingFirstPack != nil, backlogEntries().isEmpty { try folder.forgetFirstPack() }
  }

  /// Returns those of some entries for whose files the disk has room, in their order; the others would be fetched in vain with each
  /// job. What is set aside goes first.
  private func havingRoom(_ entries: [HeldEntry]) -> [HeldEntry] {
    var room = folder.room()
    if entries.clampedSum(\.blocks) > room {
      try? cache.withLock { cache throws(DeviceError) in try cache.dropAside() }
      room = folder.room()
    }
    return entries.filter { entry in
      guard entry.blocks <= room else { return false }
      room -= entry.blocks
      return true
    }
  }

  /// Returns the listed entries in the backlog whose files are missing, one for each file.
  /// - Parameter twins: if given, all missing entries with one of these files are returned instead.
  func backlogEntries(twins: Set<SHA256>? = nil) -> [HeldEntry] {
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

  private func fetchBacklogEntries(
    _ entries: [HeldEntry], _ progress: (@Sendable (Progress) -> Void)?,
    lasting: @escaping @Sendable (SHA256) -> Void
  ) throws(DeviceError) -> Int64 {
    let (index, folder, cache, gate, now) = (index, folder, cache, gate, now)
    let offers = entries.compactMap { entry in cache.withLock { $0.backlog.offer(for: entry) } }
    var fetcher = fetcher(for: index.version)
    fetcher.deltas = try deltaTable(offers, from: index)
    let report = fetcher.onFailure
    fetcher.onFailure = { entry, error in
      if error.isLasting { lasting(entry.sha256) }
      report(entry, error)
    }
    var run = FetchRun(fetcher: fetcher, gate: gate, progress: progress)
    run.shouldContinue = { gate.conditions.allowsLargeUpdates }
    return try run.run(entries, to: { folder.staged($0.sha256) }) { entry throws(DeviceError) in
      try cache.withLock { cache throws(DeviceError) in
        try cache.store(folder.staged(entry.sha256), for: entry, at: now())
      }
    }
  }
}
