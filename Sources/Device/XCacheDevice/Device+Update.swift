import Compression
import Manifests
import System

extension Device {
  /// Polls, and updates the device to the newest manifest: fetches what changed, verifies it and switches.
  ///
  /// A call that comes while another one is at its downloads waits for that one to end. If a poll is due by then, it is made
  /// first, beside the downloads, and what it says of the policy and the prefetch config is followed: the kill switch
  /// doesn't wait for a slow file. So call this for each trigger, on a thread that may wait, also while an update runs; an app
  /// that never calls it meanwhile hears nothing before the update ends. `Runtime` does that by itself.
  ///
  /// - Parameters:
  ///   - force: polls even if the last poll was less than the interval ago, and tries a version for which there was no room.
  ///   - progress: called with the progress of fetching, from several threads.
  ///   - found: called with the version of a newer manifest before any of its files is fetched.
  /// - Throws: `DeviceError`; the device then holds what it held before, or, if the disk failed after the switch,
  ///   the new manifest, whose files the next update or start puts in place.
  public func update(
    force: Bool = false, progress: (@Sendable (Progress) -> Void)? = nil,
    found: (@Sendable (String) -> Void)? = nil
  ) throws(DeviceError) -> UpdateReport {
    // It counts as any poll, and the update that is running reports what becomes of the device.
    try? pollBesideUpdate(until: StopSignal())
    return try update(force: force, until: StopSignal(), progress: progress, found: found)
  }

  /// As above, but `stop(signal)` cancels it at the next chunk that it receives; what has arrived stays.
  package func update(
    force: Bool = false, until signal: StopSignal, progress: (@Sendable (Progress) -> Void)? = nil,
    found: (@Sendable (String) -> Void)? = nil
  ) throws(DeviceError) -> UpdateReport {
    try job(until: signal) { () throws(DeviceError) in try updateAlone(force, found, progress) }
  }

  private func updateAlone(
    _ force: Bool, _ found: (@Sendable (String) -> Void)?, _ progress: (@Sendable (Progress) -> Void)?
  ) throws(DeviceError) -> UpdateReport {
    let (held, fault) = try tidied()
    if force { shortage.withLock { $0.endWait() } }
    if gate.conditions.isOffline {
      return UpdateReport(.notDue, from: held.version.text, to: held.version.text)
    }
    // Checked before it counts as a poll.
    if gate.isStopped {
      throw .noAnswer(url: settings.server.text, TransportError(.stopped, "cancelled"))
    }
    switch policy.withLock({ $0.begin(at: now(), force: force) }) {
    case .wait(let milliseconds):
      var report = UpdateReport(.notDue, from: held.version.text, to: held.version.text)
      report.wait = milliseconds
      return report
    case .poll(let source):
      isPastPoll.withLock { $0 = true }
      notePollBegins(source)
      defer {
        savePolicy()
        saveRollout()
        isPastPoll.withLock { $0 = false }
      }
      let documents = Locked(FollowedDocuments())
      let offer = try poll(source, holding: held, documents)
      savePolicy()
      saveRollout()
      if let fault { throw fault }
      if offer.kind != .same, offer.version != held.version { found?(offer.version.text) }
      var report: UpdateReport
      do throws(DeviceError) {
        report = try take(offer, source, over: held, documents, progress)
        if shortage.withLock({ $0.forget() }) { try? folder.remove(folder.shortage) }
      } catch {
        if error.isDiskFull, !error.isWaitForRoom, offer.version != held.version {
          noteShortage(of: offer.version)
        }
        throw error
      }
      report.documents = documents.withLock { $0.report }
      return report
    }
  }

  /// Finishes what an earlier update left undone.
  /// - Returns: the manifest in force, and the disk error that prevented it, if any: policies must arrive all the same.
  private func tidied() throws(DeviceError) -> (held: DeviceIndex, fault: DeviceError?) {
    do throws(DeviceError) {
      let held = try mend()
      try cache.withLock { cache throws(DeviceError) in try cache.sweepIfDue(at: now()) }
      return (held, nil)
    } catch {
      guard case .file = error else { throw error }
      return (index, error)
    }
  }

  private func take(
    _ offer: Poller.Offer, _ source: PollPolicy.Source, over held: DeviceIndex,
    _ documents: Locked<FollowedDocuments>, _ progress: (@Sendable (Progress) -> Void)?
  ) throws(DeviceError) -> UpdateReport {
    if let answer = offer.pack { return try take(answer, offer, source, over: held, documents, progress) }
    guard let next = offer.index,
      offer.goesBack
        || PollPolicy.takes(
          (next.version.number, next.digest.hex), from: source, over: (held.version.number, held.digest.hex))
    else { return try unchanged(held, source, offer.version) }
    try checkRoom(for: next.version)
    return try move(from: held, to: next, offer, source, nil, progress)
  }

  private func take(
    _ answer: PackAnswer, _ offer: Poller.Offer, _ source: PollPolicy.Source, over held: DeviceIndex,
    _ documents: Locked<FollowedDocuments>, _ progress: (@Sendable (Progress) -> Void)?
  ) throws(DeviceError) -> UpdateReport {
    guard
      offer.goesBack
        || PollPolicy.takes(
          (answer.version.number, answer.digest.hex), from: source,
          over: (held.version.number, held.digest.hex))
    else {
      succeeded(source, offer.extras)
      return try unchanged(held, source, offer.version)
    }
    try checkRoom(for: answer.version)
    // Above the limit, files are fetched when pages request them, and the patch has everything else.
    guard allows(answer.pack.size) else {
      let patch = try askWithoutPack(source, holding: held, documents)
      return try take(patch, source, over: held, documents, progress)
    }
    let pack = try install(answer, over: held, progress)
    if let next = pack.index {
      succeeded(source, offer.extras)
      return try move(from: held, to: next, offer, source, pack, progress)
    }
    // "A device that can't use a pack asks the same without `pack=1` at once; that isn't a new poll."
    let patch = try askWithoutPack(source, holding: held, documents)
    var report = try take(patch, source, over: held, documents, progress)
    report.pack = pack.report
    report.bytesFetched = report.bytesFetched.addingClamped(pack.report.bytes)
    return report
  }

  private func unchanged(
    _ held: DeviceIndex, _ source: PollPolicy.Source, _ polled: ManifestVersion
  ) throws(DeviceError) -> UpdateReport {
    // Left by a device whose process ended just after the switch.
    try folder.forgetPack()
    try folder.forgetAnswer()
    let present = try cache.withLock { cache throws(DeviceError) in
      try cache.sweep(at: now())
      return cache.present
    }
    var report = UpdateReport(.nothing, from: held.version.text, to: held.version.text)
    report.source = .init(source)
    report.polled = polled.text
    report.files = held.entries.count
    report.kept = held.entries.count { present.contains($0.name) }
    report.missing = report.files - report.kept
    report.passedOver = held.passedOver
    report.bytesTotal = held.totalBytes
    return report
  }
}

// MARK: - From one manifest to the next

extension Device {
  private func move(
    from held: DeviceIndex, to next: DeviceIndex, _ offer: Poller.Offer, _ source: PollPolicy.Source,
    _ pack: InstalledPack?, _ progress: (@Sendable (Progress) -> Void)?
  ) throws(DeviceError) -> UpdateReport {
    var next = next
    next.candidate = offer.candidate
    var plan = try plan(from: held, to: next)
    let made = plan.copy.filter { pack?.made.contains($0.entry.sha256) == true }.map(\.entry)
    let copied = try stageCopies(&plan, proven: pack?.made ?? []) - made.count
    try makeRoom(for: &plan, of: next)
    shortage.withLock { $0.needed = plan.fetch.clampedSum(\.blocks) }
    let deltas = try deltaBook(offer.deltas, from: held)
    let (bytes, skipped) = try stage(plan.fetch, of: next.version, deltas, progress)
    let gzipBytes = settings.comparesWithGzip ? gzipCost(of: plan.fetch + made) : nil
    let backlog = Backlog(skipped, offer.deltas)
    try commit(next, skipping: backlog)
    var report = UpdateReport(.init(offer.kind), from: held.version.text, to: next.version.text)
    report.source = .init(source)
    report.polled = offer.version.text
    report.files = next.entries.count
    report.fetched = plan.fetch.count - skipped.count + made.count
    report.backlog = skipped.count
    report.copied = copied + plan.shared
    report.kept = plan.kept
    report.missing = plan.missing
    report.bytesFetched = bytes + deltas.counts.received + (pack?.report.bytes ?? 0)
    report.deltas = deltas.counts.used + (pack?.deltas ?? 0)
    report.pack = pack?.report
    report.deltasFailed = deltas.counts.failed
    report.bytesByGzip = gzipBytes
    report.bytesTotal = next.totalBytes
    report.passedOver = next.passedOver
    assert(report.files == report.fetched + report.copied + report.kept + report.missing + report.backlog)
    if source == .origin, let foreign = next.foreign {
      reporter.report(FailureReport(version: next.version.text, url: foreign.text, reason: .manifest))
    }
    return report
  }

  /// Returns the offered deltas with every file that can be their base: those of the held manifest, and set-aside
  /// files.
  func deltaBook(_ offers: [DeltaOffer], from held: DeviceIndex) throws(DeviceError) -> DeltaTable {
    guard !offers.isEmpty else { return DeltaTable([], bases: [:]) }
    return DeltaTable(offers, bases: try bases(holding: held))
  }

  /// Returns the path of every file that can be a base.
  func bases(holding held: DeviceIndex) throws(DeviceError) -> [SHA256: String] {
    var bases: [SHA256: String] = [:]
    for sha256 in try folder.digests(in: folder.aside) { bases[sha256] = folder.aside(sha256) }
    let present = cache.withLock { $0.present }
    for entry in held.entries where present.contains(entry.name) {
      bases[entry.sha256] = folder.file(entry.name)
    }
    return bases
  }

  /// Returns how many bytes the staged files would have taken as gzip bodies.
  private func gzipCost(of entries: [HeldEntry]) -> Int64 {
    entries.reduce(0) { total, entry in
      guard ContentType(entry.entry.ctype)?.isCompressible == true,
        let bytes = try? DurableFile.read(folder.staged(entry.sha256))
      else { return total + entry.size }
      return total + min(entry.size, Int64(Gzip.encode([bytes]).count))
    }
  }

  func plan(from held: DeviceIndex, to next: DeviceIndex) throws(DeviceError) -> UpdatePlan {
    let present = cache.withLock { $0.present }
    return UpdatePlan(
      from: held, to: next, present: present, aside: Set(try folder.digests(in: folder.aside)),
      staged: Set(try folder.digests(in: folder.staging)))
  }

  /// Stages the files that the device already holds, and returns their number; damaged ones are added to those to
  /// fetch.
  /// - Parameters:
  ///   - plan: the plan, whose `fetch` grows by the damaged files.
  ///   - proven: staged files that this update has made and hashed.
  func stageCopies(_ plan: inout UpdatePlan, proven: Set<SHA256> = []) throws(DeviceError) -> Int {
    var copied = 0
    for copy in plan.copy {
      let isProven = copy.source == .staged && proven.contains(copy.entry.sha256)
      let isStaged = isProven ? true : try stage(copy)
      if isStaged { copied += 1 } else { plan.fetch.append(copy.entry) }
    }
    return copied
  }

  private func stage(_ copy: UpdatePlan.Copy) throws(DeviceError) -> Bool {
    let target = folder.staged(copy.entry.sha256)
    switch copy.source {
    case .staged: return folder.digest(target) == copy.entry.bytes
    case .file(let name): return try stage(copy.entry, copying: folder.file(name), to: target)
    case .aside:
      return try stage(copy.entry, copying: folder.aside(copy.entry.sha256), to: target)
    }
  }

  /// Copies a file that should have the entry's bytes; false if it doesn't, or is gone.
  func stage(
    _ entry: HeldEntry, copying source: String, to target: String
  ) throws(DeviceError) -> Bool {
    guard folder.status(source) != nil else { return false }
    let part = folder.incoming()
    do {
      guard try folder.copy(source, to: part) == entry.bytes else {
        try folder.remove(part)
        return false
      }
      try folder.move(part, to: target)
      return true
    } catch {
      try folder.remove(part)
      // It is fetched instead.
      if error.isUnreadableFile { return false }
      throw error
    }
  }

  /// Fetches what the conditions allow, and returns the bytes received and the entries that were skipped.
  private func stage(
    _ entries: [HeldEntry], of version: ManifestVersion, _ deltas: DeltaTable,
    _ progress: (@Sendable (Progress) -> Void)?
  ) throws(DeviceError) -> (bytes: Int64, skipped: [HeldEntry]) {
    let (folder, cost) = (folder, deltas.cost(of: entries))
    guard allows(cost) else { return (0, entries) }
    var fetcher = fetcher(for: version)
    fetcher.deltas = deltas
    var run = FetchRun(fetcher: fetcher, gate: gate, progress: progress)
    run.shouldContinue = { self.allows(cost) }
    let left = { entries.filter { folder.status(folder.staged($0.sha256)) == nil } }
    do {
      return (try run.run(entries, to: { folder.staged($0.sha256) }), [])
    } catch  where error.isStop && !gate.isStopped {
      // The conditions have changed: what arrived is kept, the rest waits for better ones.
      return (0, left())
    } catch  where error.isDiskFull {
      // "set-aside files go first when the disk limit is reached"
      let free = folder.free
      try folder.forgetAnswer()
      try cache.withLock { cache throws(DeviceError) in try cache.dropAside() }
      shortage.withLock { [needed = left().clampedSum(\.blocks)] in $0.needed = needed }
      do throws(DeviceError) {
        // Without more room the same bytes would come once more.
        if folder.free <= free { throw error }
        return (try run.run(left(), to: { folder.staged($0.sha256) }), [])
      } catch  where error.isDiskFull {
        reporter.report(FailureReport(version: version.text, url: "", reason: .storage))
        throw error
      }
    }
  }

  /// - Throws: the disk error, if there was no room for a version lately, and there is none yet.
  private func checkRoom(for version: ManifestVersion) throws(DeviceError) {
    if shortage.withLock({ [folder] in $0.allows(version, at: now(), free: folder.free) }) { return }
    throw .waitForRoom(folder.root, version)
  }

  private func noteShortage(of version: ManifestVersion) {
    let (now, free) = (now(), folder.free)
    let saved = shortage.withLock { shortage in
      shortage.ranOut(version, at: now, free: free)
      return shortage.saved
    }
    // Where even this finds no room, the next process tries the version once.
    try? folder.write(saved, to: folder.shortage)
  }

  /// Whether this many bytes may be fetched now.
  func allows(_ bytes: Int64) -> Bool {
    gate.conditions.allowsLargeUpdates || bytes <= settings.meteredLimit
  }

  /// Removes from a plan what exceeds the disk limit, and drops what updates to other versions left unfinished, then set-aside
  /// files, to make room for the rest.
  func makeRoom(for plan: inout UpdatePlan, of next: DeviceIndex) throws(DeviceError) {
    guard let limit = settings.diskLimit else { return }
    plan.leaveOut(beyond: cache.withLock { $0.room(for: next) })
    let bytes = plan.fetch.clampedSum(\.blocks).addingClamped(plan.copy.clampedSum(\.entry.blocks))
    try cache.withLock { cache throws(DeviceError) in
      let room = limit - cache.bytes.addingClamped(bytes)
      let wanted = Set(next.entries.map(\.sha256)).union(cache.backlog.files.keys)
      try folder.dropUnfinished(except: wanted, downTo: max(0, room - cache.asideBytes))
      if cache.asideBytes > room { try cache.dropAside(downTo: room) }
    }
  }
}

extension UpdateReport.Kind {
  init(_ kind: Poller.Offer.Kind) {
    self =
      switch kind {
      case .same: .nothing
      case .patch: .patch
      case .pack: .pack
      case .whole: .whole
      }
  }
}

extension UpdateReport.Source {
  init(_ source: PollPolicy.Source) {
    self = source == .origin ? .origin : .fallback
  }
}
