import Manifests
import System

/// What a device does beside serving pages: one job after another.
extension Device {
  /// Runs a job, once the one before it has ended.
  /// - Throws: `closed`, and what `body` does.
  func job<Value: Sendable>(
    until signal: StopSignal = StopSignal(), _ body: () throws(ClientError) -> Value
  ) throws(ClientError) -> Value {
    try work.withLock { _ throws(ClientError) in
      try gate.begin(signal, folder.root)
      defer { saveUses() }
      return try body()
    }
  }

  /// Finishes what an error of the disk cut short, and makes the folder again where it was deleted; each job begins so.
  /// - Returns: the manifest in force.
  func mend() throws(ClientError) -> DeviceIndex {
    let (isNew, index) = try cache.withLock { cache throws(ClientError) in
      (try cache.mend(at: now()), cache.index)
    }
    // They hold; the next poll writes them down again.
    if isNew { documents.withLock { $0.unwritten = Set(DeviceDocuments.Kind.allCases) } }
    return index
  }

  /// Ends the job that was begun with `signal`, at the next piece of what it fetches; it comes back at once.
  package func stop(_ signal: StopSignal) { gate.stop(signal) }

  /// Writes down what pages used since that was done last.
  package func saveUses() {
    // Another device may have the folder by then.
    guard cache.withLock({ $0.isOurs }) else { return }
    if let note = uses.takeNote() { try? folder.write(note, to: folder.uses) }
  }

  /// Removes what was set aside too long ago, where nobody looked for a while.
  package func tidy() {
    if gate.isClosed { return }
    try? cache.withLock { cache throws(ClientError) in try cache.sweepIfDue(at: now()) }
  }

  /// Ends what runs, writes the notes and lets go of the folder, which another device may open from then on.
  ///
  /// It comes back when that is done, so it isn't for callbacks. A call that fetches ends at the next piece of what it fetches;
  /// every later one throws `closed`.
  public func close() {
    beginClosing()
    work.withLock { _ in releaseFolder() }
  }

  /// Has everything that fetches end at its next piece, and nothing begin any more.
  package func beginClosing() { gate.close() }

  /// As `close`, where a job may be left behind that waits for a server: whatever it does later, the folder isn't touched.
  package func releaseFolder() {
    saveUses()
    cache.withLock { $0.close() }
  }

  /// What became of the files since the device was opened.
  package var counts: CacheCounts { cacheCounts.withLock { $0 } }
}

// MARK: - Pages that load

extension Device {
  /// A page begins to load: jobs stand back until it is loaded, or quiet for a second, ten seconds at most.
  package func pageOpens(_ page: UInt64) { gate.pageOpens(page) }

  /// A page that loads asked for something.
  package func pageAsks(_ page: UInt64) { gate.pageAsks(page) }

  /// A page came up, failed or was left.
  package func pageIsLoaded(_ page: UInt64) { gate.pageIsLoaded(page) }
}

// MARK: - The backlog

extension Device {
  /// Fetches what updates have left for conditions that allow large ones, where these do.
  ///
  /// - Returns: how many files came.
  /// - Throws: `ClientError`; what came until then stays, and the rest is still wanted.
  @discardableResult
  public func fetchBacklog(progress: (@Sendable (Progress) -> Void)? = nil) throws(ClientError) -> Int {
    try fetchBacklog(until: StopSignal(), progress: progress)
  }

  /// As above, until `stop(signal)` is called.
  package func fetchBacklog(
    until signal: StopSignal, progress: (@Sendable (Progress) -> Void)? = nil
  ) throws(ClientError) -> Int {
    try job(until: signal) { () throws(ClientError) in
      guard !gate.isStopped, gate.conditions.allowsLargeUpdates, cache.withLock({ !$0.backlog.isEmpty })
      else { return 0 }
      _ = try mend()
      defer { cache.withLock { $0.tidyNotes() } }
      return try fetchBacklogAlone(progress)
    }
  }

  private func fetchBacklogAlone(_ progress: (@Sendable (Progress) -> Void)?) throws(ClientError) -> Int {
    var copied = CompletionReport()
    let absent = try copyingHeld(backlogEntries(), &copied)
    let wanted = fitting(absent)
    // What there is no room for would only push out what is used.
    let fits = Set(wanted.map(\.sha256))
    cache.withLock { cache in
      for entry in absent where !fits.contains(entry.sha256) { cache.giveUp(onBacklog: entry.sha256) }
    }
    let copies = copied.copied
    var left = wanted
    var failure: ClientError?
    while !left.isEmpty, failure == nil {
      let failed = Locked<Set<SHA256>>([])
      do {
        try fetchBacklog(left, progress) { sha256 in failed.withLock { _ = $0.insert(sha256) } }
      } catch {
        let lasting = failed.withLock { $0 }
        // Of those the network has the word when a page asks; the others can be had.
        if lasting.isEmpty { failure = error }
        cache.withLock { cache in for sha256 in lasting { cache.giveUp(onBacklog: sha256) } }
      }
      left = left.filter { entry in cache.withLock { $0.backlog.contains(entry) && !$0.has(entry) } }
    }
    let came = wanted.filter { entry in cache.withLock { $0.has(entry) } }
    // Other URLs with the bytes of one that came.
    _ = try copyingHeld(backlogEntries(twins: Set(came.map(\.sha256))), &copied)
    if let failure { throw failure }
    return copies + came.count
  }

  /// The listed entries that are in the backlog and aren't here, one for each file.
  /// - Parameter twins: gives all that have one of these files instead.
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
  ) throws(ClientError) {
    let (index, folder, cache, gate) = (index, folder, cache, gate)
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
    _ = try run.run(entries, to: { folder.staged($0.sha256) }) { entry throws(ClientError) in
      try cache.withLock { cache throws(ClientError) in
        try cache.place(folder.staged(entry.sha256), for: entry)
      }
    }
  }
}
