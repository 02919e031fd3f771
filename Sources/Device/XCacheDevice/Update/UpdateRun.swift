import Compression
import Manifests
import System
import Trust

/// An update after its poll: it goes from the manifest held to what the poll offers.
struct UpdateRun {
  let device: Device
  /// The server that was polled.
  let source: PollPolicy.Source
  /// The manifest held before.
  let held: DeviceIndex
  let progress: (@Sendable (Progress) -> Void)?
  /// What the polls have made of the documents that their answers named.
  let documents = Locked(FollowedDocuments())

  private var folder: CacheFolder { device.folder }

  /// Fetches what is new in an offer, verifies it and switches to it.
  func apply(_ offer: Poller.Offer) throws(DeviceError) -> UpdateReport {
    var report: UpdateReport
    do throws(DeviceError) {
      if let pack = offer.pack {
        report = try applyPack(pack, of: offer)
      } else {
        report = try applyManifest(of: offer)
      }
      if device.shortage.withLock({ $0.forget() }) { try? folder.remove(folder.shortage) }
    } catch {
      if error.isDiskFull, !error.isWaitForRoom, offer.version != held.version {
        recordShortage(of: offer.version)
      }
      throw error
    }
    report.documents = documents.withLock { $0.report }
    return report
  }

  private func applyManifest(of offer: Poller.Offer) throws(DeviceError) -> UpdateReport {
    switch offer.refusal {
    case .check(let failure)?: throw device.untrusted(address, offer.version, failure)
    case .fault(let error)?: throw error
    case nil: break
    }
    guard let next = offer.index, accepts(next.version, next.digest, of: offer) else {
      if let same = offer.index, HeldManifest(same) == HeldManifest(held) {
        // Held since before the app had a root, or since the device forgot what it knew.
        try device.storeStatements(of: same, offer.ruling, from: address)
      }
      return try finishUnchanged(polled: offer.version)
    }
    try checkRoom(for: next.version)
    return try replaceManifest(with: next, of: offer)
  }

  private func applyPack(_ answer: PackAnswer, of offer: Poller.Offer) throws(DeviceError) -> UpdateReport {
    guard accepts(answer.version, answer.digest, of: offer) else {
      device.recordPollSuccess(source, offer.extras)
      return try finishUnchanged(polled: offer.version)
    }
    try checkRoom(for: answer.version)
    // Above the limit, files are fetched when pages request them, and the patch has everything else.
    guard device.allows(answer.pack.size) else {
      return try applyManifest(of: try device.pollWithoutPack(source, holding: held, documents))
    }
    let pack = try device.stagePack(answer, over: held, progress)
    if let next = pack.index {
      device.recordPollSuccess(source, offer.extras)
      return try takePack(pack, next, of: offer)
    }
    // "A device that can't use a pack asks the same without `pack=1` at once; that isn't a new poll."
    let patch = try device.pollWithoutPack(source, holding: held, documents)
    var report = try applyManifest(of: patch)
    report.pack = pack.report
    report.bytesFetched = report.bytesFetched.addingClamped(pack.report.bytes)
    return report
  }

  /// Switches to the manifest of a pack if it passes the check: only now is it known.
  private func takePack(
    _ pack: StagedPack, _ next: DeviceIndex, of offer: Poller.Offer
  ) throws(DeviceError) -> UpdateReport {
    guard let gate = device.gate(source, documents, holding: held), let statements = offer.statements else {
      return try replaceManifest(with: next, of: offer, from: pack)
    }
    let manifest = TrustOffer.Manifest(
      version: next.version, digest: next.digest, items: next.manifest.items)
    let decision = try gate.decide(manifest, statements, root: offer.extras.root, hasFreshHead: true)
    switch decision {
    case .take(let ruling, let seed):
      var offer = offer
      offer.ruling = ruling
      if !ruling.state.root.isOff { offer.candidate = seed }
      return try replaceManifest(with: next, of: offer, from: pack)
    case .other: return try finishUnchanged(polled: offer.version)
    case .wait(let error): throw error
    case .refuse(let failure):
      guard failure.isWorthAskingForAll else {
        device.report(failure, of: offer.version)
        throw device.untrusted(address, offer.version, failure)
      }
      try folder.forgetPack()
      let whole = try device.pollForAll(
        source, of: offer.version, isCandidate: offer.candidate != nil, holding: held, documents)
      var report = try applyManifest(of: whole)
      report.pack = pack.report
      report.bytesFetched = report.bytesFetched.addingClamped(pack.report.bytes)
      return report
    }
  }

  /// Who was polled.
  private var address: String {
    let settings = device.settings
    return source == .origin ? settings.server.text : settings.mirrorURL("configure.json")
  }

  /// Whether an offered manifest replaces the one held.
  private func accepts(_ version: ManifestVersion, _ digest: SHA256, of offer: Poller.Offer) -> Bool {
    offer.goesBack
      || PollPolicy.accepts(
        (version.number, digest.hex), from: source, over: (held.version.number, held.digest.hex))
  }

  private func finishUnchanged(polled: ManifestVersion) throws(DeviceError) -> UpdateReport {
    // Left by a device whose process ended just after the switch.
    try folder.forgetPack()
    try folder.forgetAnswer()
    let present = try device.cache.withLock { cache throws(DeviceError) in
      try cache.sweep(at: device.now())
      return cache.present
    }
    var report = UpdateReport(.nothing, from: held.version.text, to: held.version.text)
    report.source = .init(source)
    report.polled = polled.text
    report.files = held.entries.count
    report.kept = held.entries.count { present.contains($0.name) }
    report.lazy = held.entries.count { $0.isLazy && !present.contains($0.name) }
    report.missing = report.files - report.kept - report.lazy
    report.passedOver = held.passedOver
    report.bytesTotal = held.totalBytes
    return report
  }
}

// MARK: - From one manifest to the next

extension UpdateRun {
  /// Stages what `next` needs, and switches to it.
  /// - Parameter pack: the pack that brought it, whose files are staged by now.
  private func replaceManifest(
    with next: DeviceIndex, of offer: Poller.Offer, from pack: StagedPack? = nil
  ) throws(DeviceError) -> UpdateReport {
    var next = next
    next.candidate = offer.candidate
    var plan = try device.plan(from: held, to: next)
    let made = plan.copy.filter { pack?.made.contains($0.entry.sha256) == true }.map(\.entry)
    let copied = try device.stageCopies(&plan, verified: pack?.made ?? []) - made.count
    try device.makeRoom(for: &plan, of: next)
    let needed = plan.fetch.clampedSum(\.blocks)
    device.shortage.withLock { $0.needed = needed }
    let deltas = try device.deltaTable(offer.deltas, from: held)
    let first = held.version == .none ? device.firstPack(offer.first, for: plan) : nil
    // Whatever the network: the device switches with everything in its backlog, and takes the pack when it may.
    let (bytes, skipped) =
      first == nil ? try stageDownloads(plan.fetch, of: next.version, deltas) : (0, plan.fetch)
    let gzipBytes = device.settings.comparesWithGzip ? gzipCost(of: plan.fetch + made) : nil
    try device.storeStatements(of: next, offer.ruling, from: address)
    if let first { try folder.save(PendingFirstPack(pack: first)) }
    try device.commit(next, skipping: Backlog(skipped + plan.later, offer.deltas))
    var report = UpdateReport(.init(offer.kind), from: held.version.text, to: next.version.text)
    report.source = .init(source)
    report.polled = offer.version.text
    report.files = next.entries.count
    report.fetched = plan.fetch.count - skipped.count + made.count
    report.backlog = skipped.count + plan.later.count
    report.lazy = plan.lazy.count
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
    assert(
      report.files
        == report.fetched + report.copied + report.kept + report.missing + report.backlog + report.lazy)
    reportForeign(next)
    return report
  }

  /// Reports to the origin that its manifest lists files of hosts that aren't the app's.
  private func reportForeign(_ next: DeviceIndex) {
    guard source == .origin, let foreign = next.foreign else { return }
    device.reporter.report(FailureReport(version: next.version.text, url: foreign.text, reason: .manifest))
  }

  /// Fetches what the conditions allow, and returns the bytes received and the entries that were skipped.
  private func stageDownloads(
    _ entries: [HeldEntry], of version: ManifestVersion, _ deltas: DeltaTable
  ) throws(DeviceError) -> (bytes: Int64, skipped: [HeldEntry]) {
    let (device, folder, cost) = (device, folder, deltas.cost(of: entries))
    guard device.allows(cost) else { return (0, entries) }
    var fetcher = device.fetcher(for: version)
    fetcher.deltas = deltas
    var run = FetchRun(fetcher: fetcher, gate: device.gate, progress: progress)
    run.shouldContinue = { device.allows(cost) }
    let left = { entries.filter { folder.status(folder.staged($0.sha256)) == nil } }
    do {
      return (try run.run(entries, to: { folder.staged($0.sha256) }), [])
    } catch  where error.isStop && !device.gate.isJobStopped {
      // The conditions have changed: what arrived is kept, the rest waits for better ones.
      return (0, left())
    } catch  where error.isDiskFull {
      // "set-aside files go first when the disk limit is reached"
      let free = folder.free
      try folder.forgetAnswer()
      try device.cache.withLock { cache throws(DeviceError) in try cache.dropAside() }
      device.shortage.withLock { [needed = left().clampedSum(\.blocks)] in $0.needed = needed }
      do throws(DeviceError) {
        // Without more room the same bytes would come once more.
        if folder.free <= free { throw error }
        return (try run.run(left(), to: { folder.staged($0.sha256) }), [])
      } catch  where error.isDiskFull {
        device.reporter.report(FailureReport(version: version.text, url: "", reason: .storage))
        throw error
      }
    }
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

  /// - Throws: the disk error, if there was no room for a version lately, and there is none yet.
  private func checkRoom(for version: ManifestVersion) throws(DeviceError) {
    let now = device.now()
    if device.shortage.withLock({ [folder] in $0.allows(version, at: now, free: folder.free) }) { return }
    throw .waitForRoom(folder.root, version)
  }

  private func recordShortage(of version: ManifestVersion) {
    let (now, free) = (device.now(), folder.free)
    let saved = device.shortage.withLock { shortage in
      shortage.record(version, at: now, free: free)
      return shortage.saved
    }
    // Where even this finds no room, the next process tries the version once.
    try? folder.write(saved, to: folder.shortage)
  }
}

extension UpdateReport.Kind {
  fileprivate init(_ kind: Poller.Offer.Kind) {
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
  fileprivate init(_ source: PollPolicy.Source) {
    self = source == .origin ? .origin : .fallback
  }
}
