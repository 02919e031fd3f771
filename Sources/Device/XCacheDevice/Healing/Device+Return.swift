import Manifests
import System

/// A return to the version before.
package struct VersionReturn: Hashable, Sendable {
  /// The version that the device went back from.
  package let from: String
  /// The version that it holds since.
  package let to: String
}

/// The way back to the version before.
///
/// What is written, in this order:
///
/// 1. `trial.json`: that the version is skipped, why, and where the device goes. From here on, the next start goes on with it.
/// 2. The files of the version before: from `aside` to `staging`, by a rename each. A page that is opened from that version and still open
///    gets them from either.
/// 3. The rename of `previous.json` to `index.json`, which is the switch. It takes no room on a full disk.
/// 4. The files, as after any switch.
extension Device {
  /// Counts a process that ended while a page started, and goes back if that is to be done; also finishes what an earlier process began.
  /// Call it once, before the first page.
  package func resumeTrials() {
    guard settings.goesBack else { return forgetTrials() }
    let start = index
    // If the disk fails once more, the version in force stays until the next start, as below.
    if (try? resumeReturnToPreset()) == nil { return }
    settleTrials()
    // What is damaged is of no use.
    if cache.withLock({ $0.previous == nil }), folder.mark(folder.previous) != nil {
      try? folder.remove(folder.previous)
    }
    let held = HeldManifest(start)
    if index.version < start.version {
      return recordEvidence(ofReturnFrom: start, hasOpened: trials.withLock { $0.skip?.cause != .rejected })
    }
    if trials.withLock({ $0.isReturning(from: held) }) {
      // If the disk fails once more, the version in force stays until the next start. If it may not go there any more, for good.
      let isOver = (try? job { () throws(DeviceError) in try finishReturn(from: try repair()) }) != nil
      if isOver, HeldManifest(index) == held {
        try? cache.withLock { cache throws(DeviceError) in try cache.dropPrevious() }
      }
      settleTrials()
      if index.version < start.version {
        recordEvidence(ofReturnFrom: start, hasOpened: trials.withLock { $0.skip?.cause != .rejected })
      }
      return
    }
    let mark = trials.withLock { $0.mark }
    if mark != nil { try? changeTrials { $0.recordCrash(holding: held) } }
    // Without a mark: an earlier process ended between the last failure, or crash, and the return.
    if let cause = trials.withLock({ $0.failure(of: held) }) { _ = try? goBack(cause, url: mark?.url ?? "") }
  }

  /// Whether the device went back, and no page of the version before has come up or failed since.
  package var hasJustGoneBack: Bool {
    let held = HeldManifest(index)
    return trials.withLock { $0.isAwaited(held) }
  }

  /// Goes on with a return to what the app carries, which an earlier process began: nothing else has that manifest.
  private func resumeReturnToPreset() throws(DeviceError) {
    let held = HeldManifest(index)
    guard let preset = settings.preset,
      let skip = trials.withLock({ $0.isReturning(from: held) ? $0.skip : nil }),
      cache.withLock({ $0.previous?.id }) != skip.target
    else { return }
    try job { () throws(DeviceError) in
      try returnToPreset(preset, from: held, skip.cause, skip.url)
    }
  }

  /// The last resort. What the app carries may be older than what the device may take; then nothing changes.
  private func returnToPreset(
    _ preset: String, from id: HeldManifest, _ cause: ReturnCause, _ url: String
  ) throws(DeviceError) {
    _ = try runInstall(
      preset,
      isReturn: true,
      willSwitch: { next throws(DeviceError) in
        try self.recordReturn(from: id, to: HeldManifest(next), cause, url)
      })
  }

  private func forgetTrials() {
    try? changeTrials { $0 = TrialState() }
    try? cache.withLock { cache throws(DeviceError) in try cache.dropPrevious() }
  }

  /// Goes back to the version before if the one in force has failed, at once and without the network; stop a running job first.
  ///
  /// - Parameters:
  ///   - cause: why; with `rejected`, also if nothing failed.
  ///   - url: the page that was the reason.
  ///   - version: what this is about; nil for the version in force. An update may have switched to another one meanwhile.
  /// - Returns: from which version to which; nil if there was nothing to do, or there is no way back.
  package func goBack(
    _ cause: ReturnCause, url: String, from version: String? = nil
  ) throws(DeviceError) -> VersionReturn? {
    try job { () throws(DeviceError) -> VersionReturn? in
      let held = try repair()
      let id = HeldManifest(held)
      guard version == nil || version == held.version.text,
        let trial = trials.withLock({ $0.trial }), trial.id == id,
        trials.withLock({ cause == .rejected ? !$0.isSpared(id) : $0.failure(of: id) != nil })
      else { return nil }
      if wayBack(from: held, to: trial.previous) != nil {
        try recordReturn(from: id, to: trial.previous, cause, url)
        try finishReturn(from: held)
      } else if let preset = settings.preset {
        try returnToPreset(preset, from: id, cause, url)
      }
      settleTrials()
      let now = index
      guard now.version < held.version else { return nil }
      recordEvidence(ofReturnFrom: held, hasOpened: cause != .rejected)
      return VersionReturn(from: held.version.text, to: now.version.text)
    }
  }

  /// Returns the manifest of the version before, if the device may go there: it is whole, no rollback took it back, and none of its
  /// bundles is below a floor.
  private func wayBack(from held: DeviceIndex, to id: HeldManifest) -> DeviceIndex? {
    let (owner, known) = cache.withLock { ($0.owner, $0.previous?.id) }
    guard known == id, let previous = folder.readPrevious(of: owner, hosts: settings.hosts),
      HeldManifest(previous) == id, mayGoBack(to: previous, from: held), trust?.allowsReturn(to: id) ?? true
    else { return nil }
    return previous
  }

  private func recordReturn(
    from id: HeldManifest, to target: HeldManifest, _ cause: ReturnCause, _ url: String
  ) throws(DeviceError) {
    let before = trials.withLock { $0 }
    let record = { (trials: inout TrialState) in trials.goBack(from: id, to: target, cause, url) }
    do throws(DeviceError) {
      do throws(DeviceError) {
        try changeTrials(record)
      } catch  where error.isDiskFull {
        // All that is set aside and isn't needed makes room for these few bytes.
        try cache.withLock { cache throws(DeviceError) in try cache.dropUnkept() }
        try changeTrials(record)
      }
    } catch {
      trials.withLock { $0 = before }
      throw error
    }
    starting.withLock { $0 = [] }
  }

  /// Switches to the version before, after this was recorded.
  private func finishReturn(from held: DeviceIndex) throws(DeviceError) {
    guard let skip = trials.withLock({ $0.skip }), let next = wayBack(from: held, to: skip.target) else {
      return
    }
    let missing = try stageReturn(from: held, to: next)
    // They are fetched when a page requests them, noted or not.
    try? cache.withLock { cache throws(DeviceError) in try cache.prepare(skipping: Backlog(missing, [])) }
    try folder.syncStaged()
    let staged = Set(try folder.digests(in: folder.staging))
    try folder.restorePrevious()
    cache.withLock { cache in
      cache.previous = nil
      cache.adopt(next, staged: staged)
    }
    // It has happened: what the disk refuses now, the next job or start puts in place.
    try? moveFiles()
    try? folder.forgetPack()
    try? cache.withLock { cache throws(DeviceError) in try cache.finishSwitch(at: now()) }
  }

  /// Stages the files of the version before, without any room on the disk where it can be helped.
  /// - Returns: the entries whose files aren't here.
  private func stageReturn(
    from held: DeviceIndex, to next: DeviceIndex
  ) throws(DeviceError) -> [HeldEntry] {
    let plan = try plan(from: held, to: next)
    var missing = plan.fetch + plan.later
    for copy in plan.copy {
      let (entry, target) = (copy.entry, folder.staged(copy.entry.sha256))
      let isStaged: Bool
      switch copy.source {
      case .staged: isStaged = folder.digest(target) == entry.bytes
      case .aside:
        let path = folder.aside(entry.sha256)
        isStaged = folder.digest(path) == entry.bytes
        if isStaged {
          // What is staged counts by its age; it may have been set aside days ago.
          try? Kernel.setModified(path, to: now())
          try folder.move(path, to: target)
        }
      case .file(let name): isStaged = (try? copyFile(folder.file(name), of: entry, to: target)) ?? false
      }
      if isStaged { continue }
      // Nothing damaged moves into place.
      if copy.source == .staged { try folder.remove(target) }
      missing.append(entry)
    }
    return missing
  }
}
