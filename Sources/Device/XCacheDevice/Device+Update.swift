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
  /// - Returns: the report. A device that held nothing may have switched before the first file was here, as docs/protocol.md says in
  ///   D-179; what then didn't come is in `backlog`, and `fetchBacklog` goes on with it, as does the next update.
  /// - Throws: `DeviceError`; the device then holds what it held before, or, if the disk failed after the switch,
  ///   the new manifest, whose files the next update or start puts in place.
  public func update(
    force: Bool = false, progress: (@Sendable (Progress) -> Void)? = nil,
    found: (@Sendable (String) -> Void)? = nil
  ) throws(DeviceError) -> UpdateReport {
    // It counts as any poll, and the update that is running reports what becomes of the device.
    try? pollDuringUpdate(until: StopSignal())
    return try update(force: force, until: StopSignal(), progress: progress, found: found)
  }

  /// As above, but `stop(signal)` cancels it at the next chunk that it receives; what has arrived stays.
  ///
  /// `switched` is called with the versions before and after a switch that comes before the files.
  package func update(
    force: Bool = false, until signal: StopSignal, progress: (@Sendable (Progress) -> Void)? = nil,
    found: (@Sendable (String) -> Void)? = nil, switched: (@Sendable (String, String) -> Void)? = nil
  ) throws(DeviceError) -> UpdateReport {
    try job(until: signal) { () throws(DeviceError) in
      defer { isPastPoll.withLock { $0 = false } }
      var report = try runUpdate(force, found, progress)
      guard folder.pendingFirstPack != nil, !gate.conditions.isOffline else { return report }
      if report.from != report.to { switched?(report.from, report.to) }
      finishFirstPack(&report, progress)
      return report
    }
  }

  /// Takes the first pack that the device has switched for, and then what it still lacks. What doesn't come now is left to the job of
  /// the backlog, which says why.
  private func finishFirstPack(_ report: inout UpdateReport, _ progress: (@Sendable (Progress) -> Void)?) {
    isPastPoll.withLock { $0 = true }
    var result = BacklogResult()
    let wanted = backlogEntries()
    try? runBacklog(&result, progress)
    let lacking = cache.withLock { cache in wanted.filter { !cache.has($0) } }
    let left = cache.withLock { cache in lacking.count { cache.backlog.contains($0) } }
    report.add(result, left: left, lost: lacking.count - left)
  }

  /// The job of an update: polls, if a poll is due, and goes to what it offers.
  private func runUpdate(
    _ force: Bool, _ found: (@Sendable (String) -> Void)?, _ progress: (@Sendable (Progress) -> Void)?
  ) throws(DeviceError) -> UpdateReport {
    let (held, fault) = try repairedForPoll()
    if force { shortage.withLock { $0.endWait() } }
    if gate.conditions.isOffline {
      return UpdateReport(.notDue, from: held.version.text, to: held.version.text)
    }
    // Checked before it counts as a poll.
    if gate.isJobStopped {
      throw .noAnswer(url: settings.server.text, TransportError(.stopped, "cancelled"))
    }
    switch policy.withLock({ $0.begin(at: now(), force: force) }) {
    case .wait(let milliseconds):
      var report = UpdateReport(.notDue, from: held.version.text, to: held.version.text)
      report.wait = milliseconds
      return report
    case .poll(let source):
      isPastPoll.withLock { $0 = true }
      recordPollStart(source)
      defer {
        savePolicy()
        saveRollout()
        sendPolls()
      }
      let run = UpdateRun(device: self, source: source, held: held, progress: progress)
      let offer = try poll(source, holding: held, run.documents)
      savePolicy()
      saveRollout()
      if let fault { throw fault }
      if offer.kind != .same, offer.version != held.version { found?(offer.version.text) }
      return try run.apply(offer)
    }
  }

  /// Finishes what an earlier update left undone.
  /// - Returns: the manifest in force, and the disk error that prevented it, if any: policies must arrive all the same.
  private func repairedForPoll() throws(DeviceError) -> (held: DeviceIndex, fault: DeviceError?) {
    do throws(DeviceError) {
      let held = try repair()
      try cache.withLock { cache throws(DeviceError) in try cache.sweepIfDue(at: now()) }
      return (held, nil)
    } catch {
      guard case .file = error else { throw error }
      return (index, error)
    }
  }
}
