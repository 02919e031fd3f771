import Manifests
import System
import XCacheClient

/// A moment in the life of a page of which an adapter tells.
public enum PageMilestone: Hashable, Sendable, CaseIterable {
  /// The first paint: something is seen.
  case firstPaint
  /// The load event.
  case load
}

extension Runtime {
  /// The network answered a request that was passed on with `status`; 0: it gave no answer.
  ///
  /// Told to the origin as one more of its class, and nothing of the request. A request to a host that the app doesn't name
  /// counts for nothing.
  public func passed(_ request: PageRequest, status: Int) {
    guard let count = DeviceCount.status(status), let device, let url = try? ResourceURL(request.url),
      device.isAllowed(url)
    else { return }
    let held = device.version
    state.withLock { $0.tally.add(count, holding: held) }
  }

  /// The body of a request was lost on its way from the page to the network, as a custom scheme may lose it.
  public func lostBody(_ request: PageRequest) {
    let held = version
    state.withLock { $0.tally.add(.bodyLost, holding: held) }
  }

  /// A page came to a milestone, so many milliseconds after it was opened. The first of each kind counts, and no paint of a page that was
  /// hidden before: it waited for somebody to see it.
  public func reached(_ milestone: PageMilestone, _ page: OpenPage, after milliseconds: Int64) {
    let kind: DeviceCount.Milestone = milestone == .firstPaint ? .paint : .load
    let held = version
    state.withLock { state in
      guard let open = state.pages[page.id], !open.milestones.contains(milestone),
        milestone == .load || !open.wasHidden,
        let count = DeviceCount.time(kind, isLocal: open.isLocal, milliseconds)
      else { return }
      state.pages[page.id]?.milestones.insert(milestone)
      state.tally.add(count, holding: held)
    }
  }

  /// Sends what was counted, where it is time: after an update, when a page is closed, when the app goes to the
  /// background, and at the end.
  /// - Parameter isLast: it is time in any case.
  func sendCounts(isLast: Bool = false) {
    guard let device, isOpen || isLast, !conditions.isOffline, device.takesBatches else { return }
    let (version, now, damage) = (device.version, Clock.continuousNanoseconds(), device.takeDamage())
    let batches = state.withLock { state in
      state.tally.add(.damaged, damage, holding: version)
      return state.tally.take(at: now, holding: version, isLast: isLast)
    }
    for batch in batches { device.send(batch) }
  }
}

/// What was counted since the last batch, each under the version that was held then.
struct Tally {
  private(set) var counts = DeviceCounts()
  /// The version that `counts` are about.
  private var version: String
  /// About versions that aren't held any more.
  private var over: [DeviceBatch] = []
  /// When the last batch was made, in continuous nanoseconds.
  private var taken: UInt64?

  /// Nanoseconds between two batches of one version.
  static let pause: UInt64 = 120_000_000_000
  /// Versions no longer held that are kept until an origin answers; of more, the oldest are lost.
  private static let mostOver = 4

  init(version: String) { self.version = version }

  /// Counts what happened while a version was held.
  mutating func add(_ count: DeviceCount, _ times: Int64 = 1, holding held: String) {
    if held != version { end(holding: held) }
    counts.add(count, times)
  }

  /// Batches of all that was counted: at most one in two minutes of the version held, and those of others at once.
  /// - Parameter isLast: it is time in any case.
  mutating func take(at now: UInt64, holding held: String, isLast: Bool = false) -> [DeviceBatch] {
    let isDue = taken.map { now >= $0.addingClamped(Self.pause) } ?? true
    if held != version || isDue || isLast { end(holding: held) }
    guard !over.isEmpty else { return [] }
    taken = now
    defer { over = [] }
    return over
  }

  private mutating func end(holding held: String) {
    // Without a manifest there is nothing to answer from.
    if !counts.isEmpty, let number = ManifestVersion(text: version), number > .none {
      over.append(DeviceBatch(version: number, counts: counts))
      if over.count > Self.mostOver { over.removeFirst() }
    }
    version = held
    counts = DeviceCounts()
  }
}

extension PassReason {
  /// Whether a device might have answered: what no manifest can list is no miss.
  var countsAsPassed: Bool { self != .foreignHost && self != .notCacheable }
}
