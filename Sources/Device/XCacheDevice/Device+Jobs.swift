import Manifests
import System

/// A device's work besides serving pages, one job at a time.
extension Device {
  /// Runs a job once the previous one has ended.
  /// - Throws: `closed`, and whatever `body` throws.
  func job<Value: Sendable>(
    until signal: StopSignal = StopSignal(), _ body: () throws(DeviceError) -> Value
  ) throws(DeviceError) -> Value {
    try jobLock.withLock { _ throws(DeviceError) in
      try gate.beginJob(signal, folder.root)
      defer { saveUses() }
      return try body()
    }
  }

  /// Finishes what a disk error interrupted, and makes the folder again if it was deleted. Each job begins with it.
  /// - Returns: the manifest in force.
  func repair() throws(DeviceError) -> DeviceIndex {
    let (isNew, index) = try repairCache()
    // They are still valid; the next poll writes them again.
    if isNew {
      documents.withLock { $0.unwritten = Set(DeviceDocuments.Kind.allCases) }
      trust?.forgetSaved()
      // Another process that made the folder anew made an install id, too.
      let known = folder.savedRollout
      if let known { rollout.withLock { $0 = $0.id == known.id ? $0 : known } }
      savedRollout.withLock { $0 = known }
      savedTrials.withLock { $0 = nil }
      // What is skipped stays so; the way back of a trial is gone.
      try? changeTrials { _ in }
    }
    return index
  }

  private func repairCache() throws(DeviceError) -> (isNew: Bool, index: DeviceIndex) {
    do throws(DeviceError) {
      let repaired = try cache.withLock { cache throws(DeviceError) in
        (try cache.repair(at: now()), cache.index)
      }
      displaced.withLock { $0 = false }
      return repaired
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
    jobLock.withLock { _ in releaseFolder() }
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
  package func pageOpened(_ page: UInt64) { gate.pageOpened(page) }

  /// Notes that a loading page requested something.
  package func pageRequested(_ page: UInt64) { gate.pageRequested(page) }

  /// Notes that a page has loaded, failed or been left.
  package func pageLoaded(_ page: UInt64) { gate.pageLoaded(page) }
}
