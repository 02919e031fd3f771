import Manifests
import System
import Values

/// First packs: one download that has most files of a manifest, for a device that holds none.
///
/// The device switches at once, with every file in its backlog, and takes the pack then: pages get what has come of it, and the
/// rest as any missing file. What is written, in this order: `first.json`, with the pack; `backlog.json`; `index.json`, which is the
/// switch; of the pack what `FirstPackInstaller` says; and at last `first.json` goes, and the part file.
extension Device {
  /// With fewer files, a pack isn't worth what surrounds it.
  private static let fewestFiles = 4

  /// Returns the first pack that an answer names, if it is to be taken for an update.
  func firstPack(_ offer: PackOffer?, for plan: UpdatePlan) -> PackOffer? {
    guard let offer, offer.size > 0, offer.download.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      (try? ResourceURL(offer.download)) != nil,
      plan.fetch.count >= Self.fewestFiles, plan.fetch.clampedSum(\.size) > offer.size,
      // What there is no room for is for `RoomShortage`.
      folder.room() >= plan.fetch.clampedSum(\.blocks)
    else { return nil }
    return offer
  }

  /// Takes what is left of the first pack that the device has switched for, if there is one, and if the conditions allow it. After
  /// anything that is wrong with the pack itself, its files are left to be fetched one by one.
  ///
  /// - Throws: what keeps it from going on; the next job does.
  func takeFirstPack(
    _ result: inout BacklogResult, _ progress: (@Sendable (Progress) -> Void)?
  ) throws(DeviceError) {
    guard let pending = folder.pendingFirstPack else { return }
    for isAgain in [false, true] {
      let wanted = fitting(backlogEntries())
      let left = pending.pack.size - PartFile(ofFirstPackIn: folder).size
      guard wanted.clampedSum(\.size) > left else { break }
      guard allows(pending.pack.size) else { return }
      guard try take(pending, for: wanted, isAgain: isAgain, &result, progress) else {
        return try copyTwins()
      }
    }
    try folder.forgetFirstPack()
  }

  /// Takes a first pack.
  /// - Returns: whether it is to be looked at once more; if not, the job goes on without it.
  private func take(
    _ pending: PendingFirstPack, for wanted: [HeldEntry], isAgain: Bool, _ result: inout BacklogResult,
    _ progress: (@Sendable (Progress) -> Void)?
  ) throws(DeviceError) -> Bool {
    let installer = try FirstPackInstaller(pending.pack, for: wanted, on: self)
    defer { installer.close() }
    var download = PackDownload(
      pending.pack, by: transport(for: .files), pauses: settings.retryPauses, progress: progress)
    download.shouldContinue = { self.allows(pending.pack.size) }
    download.pause = { self.gate.pause($0) }
    var failure: PackFailure?
    do throws(PackFailure) {
      try installer.resume()
      try download.run(into: installer)
      try installer.finish()
    } catch {
      failure = error
    }
    result.add(download, installer)
    guard let failure, !installer.isDone else {
      try folder.forgetFirstPack()
      return false
    }
    return try settle(failure, of: pending, download, installer, isAgain: isAgain, &result)
  }

  /// Removes what an attempt to fetch a file by itself left, now that the pack has brought it, unless a page goes on with it.
  func removeHalf(of entry: HeldEntry) {
    let part = PartFile(of: entry.sha256, in: folder)
    guard entry.size >= PartFile.smallest, part.isThere, !gate.isFetching(entry.sha256) else { return }
    try? part.remove()
  }

  /// Puts files in place whose bytes came under another URL.
  private func copyTwins() throws(DeviceError) {
    let index = index
    let lacking = cache.withLock { cache in
      let held = Set(index.entries.filter { cache.has($0) }.map(\.sha256))
      return index.entries.filter { held.contains($0.sha256) && !cache.has($0) }
    }
    var ignored = CompletionReport()
    _ = try supplyCopies(of: fitting(lacking), &ignored)
  }

  /// Decides what becomes of a first pack that didn't come to its end. Returns as `take` does.
  private func settle(
    _ failure: PackFailure, of pending: PendingFirstPack, _ download: PackDownload,
    _ installer: FirstPackInstaller, isAgain: Bool, _ result: inout BacklogResult
  ) throws(DeviceError) -> Bool {
    let url = pending.pack.download
    if gate.isJobStopped { throw .noAnswer(url: url, TransportError(.stopped, "cancelled")) }
    let reason: String
    switch failure {
    case .abandoned: return false
    case .device(let error):
      guard error.isDiskFull else { throw error }
      // It would come once more, and find no more room: the files are fetched as there is some.
      try? folder.forgetFirstPack()
      reporter.report(FailureReport(version: index.version.text, url: "", reason: .storage))
      throw error
    case .unusable(let text): reason = text
    }
    switch download.interruption {
    case .network?:
      guard !installer.hasGained else { throw .noAnswer(url: url, TransportError(.unreachable, reason)) }
      // It may be this server alone that can't be reached. What is here stays, and the files are tried one by one.
      gate.forgetTimeouts()
      return false
    case .server?:
      var pending = pending
      pending.failures = installer.hasGained ? 0 : pending.failures + 1
      if pending.failures < PendingFirstPack.maxFailures {
        try folder.save(pending)
        throw .noAnswer(url: url, TransportError(.broken, reason))
      }
    case nil:
      if installer.isResumed, !isAgain {
        // A power cut may have damaged it.
        try folder.removeFirstPackPart()
        return true
      }
    }
    result.pack = result.pack ?? PackReport()
    result.pack?.failure = reason
    try folder.forgetFirstPack()
    return false
  }
}

extension BacklogResult {
  /// Adds what came of a download of a first pack.
  fileprivate mutating func add(_ download: PackDownload, _ installer: FirstPackInstaller) {
    fetched += installer.made
    bytes = bytes.addingClamped(download.received)
    guard download.received > 0 || installer.made > 0 else { return }
    var report = pack ?? PackReport()
    report.bytes = report.bytes.addingClamped(download.received)
    report.files += installer.made
    report.resumed += download.resumed + (installer.isResumed ? 1 : 0)
    pack = report
  }
}
