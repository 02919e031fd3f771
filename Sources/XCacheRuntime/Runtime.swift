import Manifests
import System
import XCacheClient

/// What stands between a web engine and the device: it answers a page's requests from what is held, keeps that up to date,
/// and gives way wherever it can't help.
///
/// It knows no engine. An adapter hands it requests and tells it which pages open, come up and close:
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
/// blocks a thread of Swift's concurrency; `Device` is for callers who want calls that block.
public final class Runtime: Sendable {
  let settings: RuntimeSettings
  /// Nil where its folder can't be used; then every request is passed on.
  package let device: Device?
  let hub = EventHub()
  let state: Locked<State>
  /// For what a page waits for.
  let pageThreads = WorkerThreads("pages", count: 4)
  /// For what a page waits for and the network brings.
  let fetchThreads = WorkerThreads("fetches", count: 6)
  /// One, so that one job follows another.
  let updateThread = WorkerThreads("updates", count: 1, priority: .background)
  /// For what is written down, in its order.
  let notes = WorkerThreads("notes", count: 1)
  /// Nil where nothing is sent ahead of pages.
  let prefetches: PrefetchCenter?
  /// Those that pass requests of pages on.
  let proxies = Locked<[ProxyReference]>([])
  /// Why requests are passed on although the app didn't ask for it: another process has the folder, or the disk fails.
  public let fault: ClientError?
  /// Why `RuntimeSettings.preset` couldn't be used, such as a file that is missing, damaged or another app's; nil where it was,
  /// where nothing had to be taken of it, and where there is none. The runtime starts without it, and the next start
  /// tries it again.
  public let presetFault: ClientError?

  struct State {
    var memory: MemoryCache
    var counts = RuntimeCounts()
    var tally: Tally
    var health: PageHealth
    var isInterceptionOff: Bool
    var pages: [UInt64: Open] = [:]
    var nextPage: UInt64 = 1
    var nextWaiter: UInt64 = 0
    /// Whether a page was opened while interception was on.
    var hasMarked = false
    /// What stands while this process's first page loads; nil before it and afterwards.
    var marker: CrashMarker?
    var update: SharedRun<UpdateReport?>?
    /// Updates that run or are about to.
    var updates = 0
    /// Ends the job that fetches the backlog; nil while there is none.
    var backlog: StopSignal?
    /// Listed files that are being fetched since pages asked for them.
    var fetches: [FileFetch.Key: FileFetch.Run] = [:]
    var isClosed = false
  }

  /// Starts from the folder, and takes the preset where that is newer.
  ///
  /// - Throws: `badSetting`. Where the folder is in use by another process, or the disk fails, there is a runtime that
  ///   passes everything on, and `fault` says why.
  public convenience init(
    _ settings: RuntimeSettings, transport: any Transport
  ) async throws(ClientError) {
    try await self.init(settings, transport: transport, clock: Clock.unixMilliseconds)
  }

  /// As above, with a clock in milliseconds since 1970.
  package init(
    _ settings: RuntimeSettings, transport: any Transport, clock: @escaping @Sendable () -> Int64
  ) async throws(ClientError) {
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
        isInterceptionOff: opened.isInterceptionOff))
    prepareNames()
  }

  // What runs holds the device, and ends with its owner.
  deinit {
    let (run, backlog) = state.withLock { ($0.update, $0.backlog) }
    for signal in [run?.signal, backlog] { if let signal { device?.stop(signal) } }
  }

  private struct Start: Sendable {
    var device: Device?
    var fault: ClientError?
    var presetFault: ClientError?
    var health = PageHealth(version: "0")
    var isInterceptionOff = false
  }

  private static func start(
    _ settings: RuntimeSettings, _ transport: any Transport, _ clock: @escaping @Sendable () -> Int64
  ) -> Start {
    do throws(ClientError) {
      let device = try Device(settings.device, transport: transport, clock: clock)
      let presetFault = device.takePreset(settings)
      let saved = try? DurableFile.read(settings.healthFile, limit: 1 << 20)
      // What reading the index took, which is as much as it holds.
      ProcessMemory.trim()
      return Start(
        device: device, presetFault: presetFault, health: PageHealth(saved: saved, version: device.version),
        isInterceptionOff: !settings.marker(policy: device.runtimePolicy.version).allowsStart)
    } catch {
      return Start(fault: error)
    }
  }

  /// What happens from now on; each call gives a stream of its own.
  public var events: AsyncStream<RuntimeEvent> { hub.listen() }

  /// The manifest version held; `0`: none.
  public var version: String { device?.version ?? "0" }

  /// How often what happened.
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

  /// Lets go of what is in memory; the system told the app that there is little.
  public func memoryIsShort() { state.withLock { $0.memory.empty() } }
}

extension RuntimeSettings {
  var healthFile: String { "\(device.folder)/pages.json" }

  func marker(policy: String) -> CrashMarker {
    CrashMarker(path: "\(device.folder)/starting", subject: "\(policy) \(build)")
  }
}
