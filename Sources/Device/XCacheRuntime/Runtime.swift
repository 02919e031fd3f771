import Manifests
import System
import XCacheDevice

/// Sits between a web engine and the device: answers page requests from the files held, keeps those files up to date, and
/// steps aside whenever it can't help.
///
/// It knows nothing about engines. An adapter hands it requests and tells it which pages open, come up and close:
///
///     let runtime = try await Runtime(settings, transport: transport)
///     Task { await runtime.handle(.launch) }
///     let page = runtime.open("https://m.example.com/index.html")
///     switch await runtime.answer(PageRequest(page.url, destination: .document, mode: .navigate, page: page)) {
///     case .local(let answer): …
///     case .network: …
///     }
///     …
///     await runtime.close()
///
/// Whatever goes wrong, a request is passed on to the network: the runtime may cost speed, never a page. Nothing here
/// blocks a thread of Swift's concurrency pool; use `Device` for blocking calls.
public final class Runtime: Sendable {
  let settings: RuntimeSettings
  /// Nil if its folder can't be used; every request is then passed on.
  package let device: Device?
  let hub = EventHub()
  let state: Locked<State>
  /// For work that a page waits for.
  let pageThreads = WorkerThreads("pages", count: 4)
  /// For work that a page waits for and that needs the network.
  let fetchThreads = WorkerThreads("fetches", count: 6)
  /// For small files, which a page needs first.
  let smallFetchThreads = WorkerThreads("small fetches", count: 6)
  /// A single thread, so that jobs run one after another.
  let updateThread = WorkerThreads("updates", count: 1, priority: .background)
  /// For polls beside an update, which may take long.
  let pollThread = WorkerThreads("polls", count: 1, priority: .background)
  /// For writing notes to the disk, in order.
  let notes = WorkerThreads("notes", count: 1)
  /// Nil if no calls are sent ahead of pages.
  let prefetches: PrefetchCenter?
  /// The proxies that pass page requests on.
  let proxies = Locked<[ProxyReference]>([])
  /// Why requests are passed on although the app didn't ask for it: another process holds the folder, or the disk fails.
  public let fault: DeviceError?
  /// Why `RuntimeSettings.preset` couldn't be used, for example because the file is missing, damaged or another app's. Nil
  /// if it was used, if nothing had to be taken from it, or if there is none. The runtime starts without it, and the next
  /// start tries it again.
  public let presetFault: DeviceError?

  struct State {
    var memory: MemoryCache
    var counts = RuntimeCounts()
    var tally: Tally
    var samples = PageSamples()
    /// The engine's name and version; empty if it isn't known.
    var engine = ""
    var health: PageHealth
    /// Since when interception is off after crashes, in milliseconds since 1970; nil if it is on.
    var offSince: Int64?
    var pages: [UInt64: Open] = [:]
    var nextPage: UInt64 = 1
    var nextWaiter: UInt64 = 0
    /// Whether a page was opened while interception was on.
    var hasMarked = false
    /// The marker that exists while this process's first page loads; nil before and after.
    var marker: CrashMarker?
    var update: SharedRun<UpdateReport?>?
    /// The number of updates that are running or about to.
    var updates = 0
    /// Stops the poll beside an update; nil if there is none.
    var concurrentPoll: StopSignal?
    /// Stops the job that fetches the backlog; nil if there is none.
    var backlog: StopSignal?
    /// The last version that `RuntimeEvent.completed` named.
    var completed: String?
    /// The last return to the version before.
    var returning: Task<Bool, Never>?
    /// The number of the first page since then.
    var firstSinceReturn: UInt64 = 0
    /// A version that there is no way back from, as this process has found.
    var stuckVersion: String?
    /// The fetches of listed files that pages are waiting for.
    var fetches: [FileFetch.Key: FileFetch.Run] = [:]
    /// The files that were added to the backlog because a page requested them.
    var filled: Set<SHA256> = []
    var isClosed = false
  }

  /// Starts from the folder, and takes the preset if it is newer.
  ///
  /// - Throws: `badSetting`. If the folder is in use by another process, or the disk fails, it returns a runtime that
  ///   passes everything on, and `fault` says why.
  public convenience init(
    _ settings: RuntimeSettings, transport: any Transport
  ) async throws(DeviceError) {
    try await self.init(settings, transport: transport, clock: Clock.unixMilliseconds)
  }

  /// The same, with a clock in milliseconds since 1970.
  package init(
    _ settings: RuntimeSettings, transport: any Transport, clock: @escaping @Sendable () -> Int64
  ) async throws(DeviceError) {
    self.settings = settings
    prefetches = settings.fetcher.map { PrefetchCenter($0) }
    let opened = await pageThreads.run { Self.start(settings, transport, clock) }
    if let fault = opened.fault, case .badSetting = fault { throw fault }
    device = opened.device
    fault = opened.fault
    presetFault = opened.presetFault
    state = Locked(
      State(
        memory: MemoryCache(limit: settings.memoryLimit),
        tally: Tally(version: opened.device?.version ?? "0"),
        health: opened.health,
        offSince: opened.offSince))
    device?.onPolicyChange { [weak self] in self?.policyChanged() }
    device?.onCountedPoll { [weak self] version in
      self?.state.withLock { $0.tally.add(.polls, holding: version) }
    }
    prepareNames()
  }

  // Running jobs retain the device, and end with the runtime that started them.
  deinit {
    let signals = state.withLock { [$0.update?.signal, $0.concurrentPoll, $0.backlog] }
    for signal in signals { if let signal { device?.stop(signal) } }
  }

  private struct Start: Sendable {
    var device: Device?
    var fault: DeviceError?
    var presetFault: DeviceError?
    var health = PageHealth(version: "0")
    var offSince: Int64?
  }

  private static func start(
    _ settings: RuntimeSettings, _ transport: any Transport, _ clock: @escaping @Sendable () -> Int64
  ) -> Start {
    do throws(DeviceError) {
      var own = settings.device
      (own.goesBack, own.preset) = (settings.goesBack, settings.preset)
      let device = try Device(own, transport: transport, clock: clock)
      let marker = settings.marker(policy: device.runtimePolicy.version)
      if let crash = marker.crash(at: clock()) { device.recordStartCrash(at: crash) }
      device.resumeTrials()
      // The version that the device went back from is gone, and with it what ended these processes.
      if device.hasJustGoneBack { marker.end() }
      let presetFault = device.takePreset(settings)
      let saved = try? DurableFile.read(settings.healthFile, limit: 1 << 20)
      // Reading the index takes as much memory again as the index holds.
      ProcessMemory.trim()
      return Start(
        device: device, presetFault: presetFault, health: PageHealth(saved: saved, version: device.version),
        offSince: settings.marker(policy: device.runtimePolicy.version).offSince(at: clock()))
    } catch {
      return Start(fault: error)
    }
  }

  /// The events from now on; each call returns a stream of its own.
  public var events: AsyncStream<RuntimeEvent> { hub.listen() }

  /// The manifest version held, or `0` if there is none.
  public var version: String { device?.version ?? "0" }

  /// How often each thing has happened since the start.
  public var counts: RuntimeCounts {
    let kept = device?.counts ?? CacheCounts()
    return state.withLock { state in
      var counts = state.counts
      counts.evictions = state.memory.counts.evictions
      counts.misses = kept.misses
      counts.diskEvictions = kept.evictions
      counts.memoryBytes = state.memory.used
      return counts
    }
  }

  /// Empties the memory cache; call it when the system warns the app that memory is low.
  public func memoryIsShort() { state.withLock { $0.memory.empty() } }
}

extension RuntimeSettings {
  var healthFile: String { "\(device.folder)/pages.json" }

  func marker(policy: String) -> CrashMarker {
    CrashMarker(path: "\(device.folder)/starting", subject: "\(policy) \(build)")
  }
}
