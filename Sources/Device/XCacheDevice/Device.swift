import Manifests
import System

/// A device that follows one channel: it polls, fetches what is new, switches to it atomically, and serves pages their
/// files.
///
/// Calls block until they are done, so make them off the main thread. They are thread-safe, and pages are served while
/// an update runs. No other process can use the folder until the device is closed or deallocated.
///
///     let settings = DeviceSettings(folder: "…", server: "https://…", app: "shop", hosts: ["m.example.com"])
///     let device = try Device(settings, transport: …)
///     let report = try device.update()
///     let page = try device.resource(for: "https://m.example.com/index.html")
public final class Device: Sendable {
  let settings: CheckedSettings
  let folder: CacheFolder
  let transport: any Transport
  let now: @Sendable () -> Int64
  let cache: Locked<DeviceCache>
  /// The manifest in force, for readers that must not wait for the cache while it works on the disk.
  let current: Locked<DeviceIndex>
  let uses: UseOrder
  let cacheCounts: Locked<CacheCounts>
  let policy: Locked<PollPolicy>
  /// What is known of the servers' time.
  let clock: Locked<ServerClock>
  /// What is known of a version that there was no room for.
  let shortage: Locked<RoomShortage>
  /// What the disk has of `policy`; nil if that isn't known.
  let savedPolicy = Locked<PollPolicy?>(nil)
  // Held while a job runs: one at a time.
  let jobLock = Locked(())
  let documents: Locked<DeviceDocuments>
  /// Nil if the app was built without a root.
  let trust: DeviceTrust?
  let rollout: Locked<RolloutState>
  /// What the disk has of `rollout`; nil if that isn't known.
  let savedRollout: Locked<RolloutState?>
  let trials: Locked<TrialState>
  /// What the disk has of `trials`; nil if that isn't known. The lock is held while they are written.
  let savedTrials: Locked<TrialState?>
  /// The pages for which the mark of `trials` is there.
  let starting = Locked<Set<UInt64>>([])
  let traits: Locked<AppTraits>
  let reporter: FailureReporter
  /// Called with the version of each poll that counts; nil: the device sends these counts itself.
  let countedPollHandler = Locked<(@Sendable (String) -> Void)?>(nil)
  /// The polls that count, where nobody else counts them.
  let polls: Locked<Tally>
  /// Whether the origin's last answer had `edge`.
  let hasEdge = Locked(false)
  /// The number of files found damaged since the last `takeDamage()`.
  let damage = Locked<Int64>(0)
  let gate: DownloadGate
  /// Whether an update has polled and is at its downloads: a poll that is due meanwhile is made beside it.
  let isPastPoll = Locked(false)
  // Held while a document is taken: polls may overlap.
  let documentLock = Locked(())
  /// Called whenever another policy is in force.
  let policyChangeHandler = Locked<@Sendable () -> Void>({})
  /// Whether another process has the folder, which was deleted while this one had it.
  let displaced = Locked(false)

  /// Opens the device's folder, creates it if it is missing, and finishes what a crash left undone.
  ///
  /// - Throws: `badSetting`, `inUse`, `otherContents`, `file`.
  public convenience init(_ settings: DeviceSettings, transport: any Transport) throws(DeviceError) {
    try self.init(
      settings, transport: transport, folder: CacheFolder(settings.folder), now: Clock.unixMilliseconds)
  }

  /// As above, with a clock in milliseconds since 1970, which conformance cases set.
  package convenience init(
    _ settings: DeviceSettings, transport: any Transport, clock: @escaping @Sendable () -> Int64
  ) throws(DeviceError) {
    try self.init(settings, transport: transport, folder: CacheFolder(settings.folder), now: clock)
  }

  /// As above, with a folder that tests can interrupt.
  init(
    _ settings: DeviceSettings, transport: any Transport, folder: CacheFolder,
    now: @escaping @Sendable () -> Int64
  ) throws(DeviceError) {
    let checked = try CheckedSettings(settings)
    let owner = DeviceIndex.Owner(app: checked.app.text, channel: checked.channel.text)
    self.settings = checked
    self.folder = folder
    self.transport = transport
    self.now = now
    let opened = try DeviceCache.open(
      folder, for: owner, hosts: checked.hosts, limit: checked.diskLimit, at: now())
    current = opened.current
    uses = opened.uses
    cacheCounts = opened.counts
    cache = Locked(opened)
    documents = Locked(DeviceDocuments(folder))
    let held = HeldManifest(current.withLock { $0 })
    trust = checked.root.map { root in
      DeviceTrust(
        root, channel: checked.channel, stored: try? DurableFile.read(folder.trust, limit: TrustNotes.limit),
        holding: held)
    }
    let known = folder.savedRollout
    rollout = Locked(known ?? RolloutState())
    savedRollout = Locked(known)
    let trials = folder.savedTrials
    self.trials = Locked(trials ?? TrialState())
    savedTrials = Locked(trials)
    traits = Locked(AppTraits(version: settings.appVersion, groups: settings.groups))
    reporter = FailureReporter(transport, checked)
    polls = Locked(Tally(version: current.withLock { $0.version.text }))
    gate = DownloadGate(width: checked.connections)
    clock = Locked(
      ServerClock(saved: try? DurableFile.read(folder.clock, limit: 1 << 16), server: checked.server.text))
    shortage = Locked(RoomShortage(saved: try? DurableFile.read(folder.shortage, limit: 1 << 16)))
    let saved = try? DurableFile.read(folder.poll, limit: 1 << 16)
    policy = Locked(
      PollPolicy(saved: saved, server: checked.server.text, hasFallback: checked.fallback != nil))
    // The install id is made at the first start.
    saveRollout()
  }

  /// The manifest version held; `0` if there is none.
  public var version: String { index.version.text }

  /// The SHA-256 of the canonical resourcemap held, in hexadecimal.
  public var digest: String { index.digest.hex }

  /// Whether the folder's index was damaged when the device was opened; if so, it started without a manifest and kept
  /// the old files as bases for deltas.
  public var wasDamaged: Bool { cache.withLock { $0.wasDamaged } }

  /// Whether another process has taken the folder: nothing of it may be answered until that one has ended.
  package var isDisplaced: Bool { displaced.withLock { $0 } }

  /// The time by the device's clock, in milliseconds since 1970.
  package var time: Int64 { now() }

  // Saves what was used since the last job; `close()` has already done so.
  deinit { saveUses() }

  var index: DeviceIndex { current.withLock { $0 } }

  /// The network and power conditions; a running job obeys a change from its next chunk on.
  public var conditions: Conditions {
    get { gate.conditions }
    set { changeConditions { $0 = newValue } }
  }

  /// Changes the conditions atomically, so that concurrent changes to different members don't overwrite each other.
  /// - Returns: the conditions before and after the change.
  @discardableResult
  package func changeConditions(
    _ change: (inout Conditions) -> Void
  ) -> (old: Conditions, new: Conditions) {
    gate.changeConditions(change)
  }

  /// Tells the transport that the device has moved to another network.
  package func networkChanged() { transport.networkChanged() }

  func transport(for use: GatedTransport.Use) -> GatedTransport {
    GatedTransport(inner: transport, gate: gate, use: use)
  }

  /// Returns a fetcher for files of a version.
  /// - Parameters:
  ///   - version: the manifest version that lists the files.
  ///   - signal: cancels a fetch that a page waits for; nil for the many files of a `FetchRun`.
  func fetcher(for version: ManifestVersion, forPageUntil signal: StopSignal? = nil) -> Fetcher {
    var transport = transport(for: signal == nil ? .files : .page)
    transport.isOneOfMany = signal == nil
    if let signal { transport.signal = signal }
    var fetcher = Fetcher(transport: transport, folder: folder, pauses: settings.retryPauses)
    fetcher.isForPage = signal != nil
    fetcher.pause = { [gate] in gate.pause($0, until: signal) }
    fetcher.onFailure = { [reporter] entry, error in
      // When the disk is full, room is made and the file is fetched again.
      guard let reason = FailureReport.Reason(error), reason != .storage else { return }
      reporter.report(FailureReport(version: version.text, url: entry.url.text, reason: reason))
    }
    return fetcher
  }
}

extension Device {
  /// Waits until pending failure reports have been sent to the origin, or the time is up.
  ///
  /// Calling this is optional, since reports are sent in the background; but those in flight are lost when the process
  /// exits.
  public func finishReports(milliseconds: Int = 2_000) { reporter.wait(milliseconds) }

  /// Whether the origin answered the last poll, so that batches of counts can be sent to it.
  package var takesBatches: Bool { reporter.takesBatches }

  /// Whether a shared cache takes the origin's polls, so that each batch says how many there were (docs/protocol.md §11, D-186).
  package var countsPolls: Bool { hasEdge.withLock { $0 } }

  /// Sends a batch of counts, sampled at the rate that the origin asks for; returns at once, and doesn't retry.
  package func send(_ batch: DeviceBatch) { reporter.send(batch) }

  /// Whether the origin asked for no error samples.
  package var refusesSamples: Bool { reporter.refusesSamples }

  /// Sends an error sample, if the origin takes samples; returns at once, and doesn't retry.
  package func send(_ report: SampleReport) { reporter.send(report) }

  /// Has `body` called with the version of each poll that is to be counted (docs/protocol.md §11, D-185): at once, on the thread
  /// that polled. It then sends them with its batches; otherwise the device sends them by itself.
  package func onCountedPoll(_ body: @escaping @Sendable (String) -> Void) {
    countedPollHandler.withLock { $0 = body }
  }

  /// Returns how many files were found damaged, as they were read, since the last call.
  package func takeDamage() -> Int64 {
    damage.withLock { damage in
      defer { damage = 0 }
      return damage
    }
  }

  /// Reports a manifest of the origin's that can't be used.
  func reportManifest(_ error: DeviceError, from source: PollPolicy.Source, holding held: DeviceIndex) {
    guard source == .origin, let reason = FailureReport.Reason(error) else { return }
    // An origin that doesn't answer can't receive a report either.
    switch error {
    case .noAnswer, .status: return
    default: break
    }
    var version = held.version.text
    if case .wrongDigest(_, let wrong, _, _) = error { version = wrong }
    reporter.report(FailureReport(version: version, url: "", reason: reason))
  }
}
