import Manifests
import System

/// What a device knows of a version that hasn't proved itself: the verdicts of its pages, and crashes while one starts.
extension Device {
  /// Whether it matters what becomes of a page that was answered from a version. Cheap: most devices wait for nothing.
  package func awaitsVerdict(of version: String) -> Bool {
    guard !trials.withLock({ $0.isEmpty }), let number = ManifestVersion(text: version) else { return false }
    let held = HeldManifest(index)
    return trials.withLock { $0.awaitsVerdict(of: number, holding: held) }
  }

  /// Whether a page that is answered from a version is marked before: `beginStart`.
  package func needsMark(_ version: String) -> Bool {
    guard !trials.withLock({ $0.isEmpty }), let number = ManifestVersion(text: version) else { return false }
    let held = HeldManifest(index)
    return trials.withLock { $0.needsMark(number, holding: held) }
  }

  /// Writes the mark of a page whose document is about to be answered, if it isn't there. If the disk can't be written the page is
  /// answered all the same, and its crash isn't noticed.
  package func beginStart(of page: UInt64, _ url: String, from version: String) {
    guard let number = ManifestVersion(text: version) else { return }
    let held = HeldManifest(index)
    try? changeTrials { trials in
      guard trials.needsMark(number, holding: held) else { return }
      starting.withLock { _ = $0.insert(page) }
      trials.addMark(number, url)
    }
  }

  /// Whether the mark is there for a page.
  package func isStarting(_ page: UInt64) -> Bool { starting.withLock { $0.contains(page) } }

  /// Removes the mark of a page, or of all: it came up, failed or was closed, or the process may be ended from now on.
  package func endStart(of page: UInt64? = nil) {
    try? changeTrials { trials in
      let isOver = starting.withLock { starting in
        if let page { starting.remove(page) } else { starting = [] }
        return starting.isEmpty
      }
      if isOver { trials.removeMark() }
    }
  }

  /// Records that a page of a version failed.
  /// - Returns: whether the device has to go back.
  package func recordFailure(of version: String) -> Bool {
    guard let number = ManifestVersion(text: version) else { return false }
    let held = HeldManifest(index)
    // What can't be written counts in this process.
    try? changeTrials { $0.recordFailure(of: number, holding: held) }
    return trials.withLock { $0.failure(of: held) != nil }
  }

  /// Records that the last page of a version that failed, because it said nothing in time, came up after all.
  package func takeBackFailure(of version: String) {
    guard let number = ManifestVersion(text: version) else { return }
    let held = HeldManifest(index)
    try? changeTrials { $0.takeBackFailure(of: number, holding: held) }
  }

  /// Records that a page of a version came up; the version has proved itself when the process has lived for a while after.
  package func recordSuccess(of version: String) {
    guard let number = ManifestVersion(text: version) else { return }
    let held = HeldManifest(index)
    try? changeTrials { $0.recordSuccess(of: number, holding: held) }
    tellReturn()
  }

  /// Ends the trial of a version, if that is still in force: it has proved itself, and the version before isn't kept any more.
  ///
  /// The floors that it leaves rise first, then it is written that it is proved, and only then the version before is given up: whatever
  /// comes in between, no floor is forgotten, and no trial is without its way back.
  package func prove(_ version: String) {
    if recordProof(of: version) { saveProof() }
    let held = HeldManifest(index)
    guard held.version.text == version, trials.withLock({ $0.trial?.id == held }) else { return }
    do throws(DeviceError) {
      try changeTrials { $0.prove(holding: held) }
    } catch {
      // The next page proves it again, in this process or the next one.
      return
    }
    starting.withLock { $0 = [] }
    settleTrials()
  }

  /// Reports, once, that the device went back, when a page has come up since and the origin has answered a poll of this process: a report
  /// that doesn't arrive isn't repeated.
  package func tellReturn() {
    guard reporter.takesBatches, !conditions.isOffline, let skip = trials.withLock({ $0.report }) else {
      return
    }
    guard (try? changeTrials { $0.recordReport() }) != nil else { return }
    var report = FailureReport(
      version: skip.id.version.text, url: skip.url, reason: .returned, occasion: "returned")
    report.cause = skip.cause
    reporter.report(report)
  }

  /// Changes what is known, and writes it. What can't be written counts in this process.
  func changeTrials(_ change: (inout TrialState) -> Void) throws(DeviceError) {
    try savedTrials.withLock { saved throws(DeviceError) in
      let next = trials.withLock { trials in
        change(&trials)
        return trials
      }
      if saved == next { return }
      saved = nil
      try cache.withLock { cache throws(DeviceError) in try cache.checkOurs() }
      if next.isEmpty {
        try folder.remove(folder.trial)
      } else {
        try folder.write(next.saved, to: folder.trial)
      }
      saved = next
    }
  }
}

// MARK: - Switches

extension Device {
  /// Keeps the last version that proved itself, before the switch to `next`: first its manifest, then the trial that names it. Its files
  /// are set aside by the switch. If the process ends in between, `settleTrials` removes what is of no use.
  ///
  /// There is no way back to a version that isn't lower, or that a rollback took back. A disk without room for it costs the way back.
  func keepPrevious(before next: DeviceIndex) throws(DeviceError) {
    let held = index
    guard settings.goesBack, held.version > .none else { return }
    let (owner, kept) = cache.withLock { ($0.owner, $0.previous) }
    // One that the device was about to leave hasn't, either.
    let isOnTrial = trials.withLock {
      $0.trial?.id == HeldManifest(held) || $0.isReturning(from: HeldManifest(held))
    }
    // Of a version that hasn't proved itself itself, and has no way back, nobody knows whether it is one.
    guard
      let previous = isOnTrial
        ? kept.flatMap({ _ in folder.readPrevious(of: owner, hosts: settings.hosts) }) : held,
      mayGoBack(to: previous, from: next)
    else { return }
    let id = HeldManifest(previous)
    do throws(DeviceError) {
      if !isOnTrial {
        let bytes = previous.rendered(for: owner)
        guard hasRoom(for: bytes, and: next, of: owner) else { return }
        try folder.write(bytes, to: folder.previous)
      }
      cache.withLock { $0.previous = PreviousVersion(previous, besides: held, next) }
      try changeTrials { $0.begin(HeldManifest(next), after: HeldManifest(held), previous: id) }
    } catch  where error.isDiskFull {
      try cache.withLock { cache throws(DeviceError) in try cache.dropPrevious() }
    }
  }

  /// Whether the manifest of the version before takes no room that the switch needs.
  private func hasRoom(for bytes: [UInt8], and next: DeviceIndex, of owner: DeviceIndex.Owner) -> Bool {
    let free = folder.free
    // To render it once more only to count its bytes would take time on every device.
    if free > 64 << 20 { return true }
    return free > Int64(bytes.count + next.rendered(for: owner).count) + 1 << 16
  }

  /// Forgets what is of no use with the manifest in force. If that can't be written, the next start does it.
  func settleTrials() {
    guard settings.goesBack else { return }
    let held = HeldManifest(index)
    let known = cache.withLock { $0.previous?.id }
    try? changeTrials { $0.hold(held, previous: known) }
    let isNeeded = trials.withLock { trials in
      trials.trial?.previous == known || trials.isReturning(from: held) && trials.skip?.target == known
    }
    if !isNeeded { try? cache.withLock { cache throws(DeviceError) in try cache.dropPrevious() } }
  }

  /// Whether a version is the one that the device went back from.
  func isSkipped(_ next: DeviceIndex, holding held: DeviceIndex) -> Bool {
    trials.withLock { $0.skipped(holding: HeldManifest(held)) } == next.version
  }

  /// Whether the device may go from one version back to another.
  func mayGoBack(to previous: DeviceIndex, from next: DeviceIndex) -> Bool {
    previous.version < next.version
      && !policy.withLock { $0.isRolledBack(from: previous.version.text, to: next.version.number) }
  }
}
