import Manifests
import System

/// A device that follows one channel: it polls, fetches what is new, switches to it in one step, and gives pages
/// their files.
///
/// Calls block until they are done, so make them off the main thread; any thread may, and pages are served while
/// an update runs. The folder is this process's alone until the device is let go.
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
  /// The manifest in force, for those who don't wait for the cache while it works on the disk.
  let current: Locked<DeviceIndex>
  let uses: UseOrder
  let cacheCounts: Locked<CacheCounts>
  let policy: Locked<PollPolicy>
  // Held while an update or a completion runs: one at a time.
  let work = Locked(())
  let documents: Locked<DeviceDocuments>
  let reporter: FailureReporter
  /// Files that were found damaged since somebody asked.
  let damage = Locked<Int64>(0)
  let gate: DownloadGate

  /// Opens the device's folder, makes it where it is missing, and finishes what a crash left undone.
  ///
  /// - Throws: `badSetting`, `inUse`, `otherContents`, `file`.
  public convenience init(_ settings: DeviceSettings, transport: any Transport) throws(ClientError) {
    try self.init(
      settings, transport: transport, folder: CacheFolder(settings.folder), now: Clock.unixMilliseconds)
  }

  /// As above with a clock, in milliseconds since 1970, and a folder that tests can stop.
  init(
    _ settings: DeviceSettings, transport: any Transport, folder: CacheFolder,
    now: @escaping @Sendable () -> Int64
  ) throws(ClientError) {
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
    reporter = FailureReporter(transport, checked)
    gate = DownloadGate(width: checked.connections)
    let saved = try? DurableFile.read(folder.poll, limit: 1 << 16)
    policy = Locked(
      PollPolicy(saved: saved, server: checked.server.text, hasFallback: checked.fallback != nil))
  }

  /// The manifest version held; `0`: none.
  public var version: String { index.version.text }

  /// The sha256, in hexadecimal, of the canonical resourcemap held.
  public var digest: String { index.digest.hex }

  /// Whether the folder's index was damaged when the device was opened; then it started from nothing, with the
  /// files as bases.
  public var wasDamaged: Bool { cache.withLock { $0.wasDamaged } }

  // What is used since the last job is written down; whoever closed the device has that done already.
  deinit { saveUses() }

  var index: DeviceIndex { current.withLock { $0 } }

  /// What the app knows of network and battery; a job that runs obeys it from its next piece on.
  public var conditions: Conditions {
    get { gate.conditions }
    set { changeConditions { $0 = newValue } }
  }

  /// Changes the conditions in one step, so that two who change different parts of them don't undo each other's.
  /// - Returns: what they were, and what they are.
  @discardableResult
  package func changeConditions(
    _ change: (inout Conditions) -> Void
  ) -> (old: Conditions, new: Conditions) {
    gate.changeConditions(change)
  }

  /// The device has another network.
  package func networkChanged() { transport.networkChanged() }

  func transport(for use: GatedTransport.Use) -> GatedTransport {
    GatedTransport(inner: transport, gate: gate, use: use)
  }

  /// Fetches files of a version.
  /// - Parameter signal: ends the fetch that a page waits for; nil: many files are fetched, in a `FetchRun`.
  func fetcher(for version: ManifestVersion, forPageUntil signal: StopSignal? = nil) -> Fetcher {
    var transport = transport(for: signal == nil ? .files : .page)
    transport.isOneOfMany = signal == nil
    if let signal { transport.signal = signal }
    var fetcher = Fetcher(transport: transport, folder: folder, pauses: settings.retryPauses)
    fetcher.isForPage = signal != nil
    fetcher.pause = { [gate] in gate.pause($0, until: signal) }
    fetcher.failed = { [reporter] entry, error in
      // A disk that is full is made room on, and the file fetched once more.
      guard let reason = FailureReport.Reason(error), reason != .storage else { return }
      reporter.report(FailureReport(version: version.text, url: entry.url.text, reason: reason))
    }
    return fetcher
  }
}

extension Device {
  /// Waits until the failures that this device met were told to the origin, at most so many milliseconds.
  ///
  /// Nobody has to: reports are sent behind the device's back. But a process that ends takes those with it that are
  /// still on their way.
  public func finishReports(milliseconds: Int = 2_000) { reporter.wait(milliseconds) }

  /// Whether the origin answered the last poll, so that batches of counts can be sent to it.
  package var takesBatches: Bool { reporter.takesBatches }

  /// Sends a batch of counts, of as many of them as the origin asks for; returns at once, and one that is lost is lost.
  package func send(_ batch: DeviceBatch) { reporter.send(batch) }

  /// How many files were found damaged since the last call, when they were read.
  package func takeDamage() -> Int64 {
    damage.withLock { damage in
      defer { damage = 0 }
      return damage
    }
  }

  /// Tells of a manifest of the origin's that can't be used.
  func report(_ error: ClientError, from source: PollPolicy.Source, holding held: DeviceIndex) {
    guard source == .origin, let reason = FailureReport.Reason(error) else { return }
    // Of an origin that doesn't answer there is nobody to tell.
    switch error {
    case .noAnswer, .status: return
    default: break
    }
    var version = held.version.text
    if case .wrongDigest(_, let wrong, _, _) = error { version = wrong }
    reporter.report(FailureReport(version: version, url: "", reason: reason))
  }
}
