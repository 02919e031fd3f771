import Manifests
import System
import Values
import XCacheDevice

/// A moment in the life of a page that an adapter reports.
public enum PageMilestone: Hashable, Sendable, CaseIterable {
  /// The first paint: something is visible.
  case firstPaint
  /// The load event.
  case load
}

extension Runtime {
  /// Reports that the network answered a passed-on request with `status`, or 0 if it gave no answer.
  ///
  /// The origin is told only how many there were of each class of status, and nothing about the request. A request to a
  /// host that the app doesn't name isn't counted.
  public func passed(_ request: PageRequest, status: Int) {
    guard let count = DeviceCount.status(status), let device, let url = try? ResourceURL(request.url),
      device.isAllowed(url)
    else { return }
    let held = device.version
    state.withLock { $0.tally.add(count, holding: held) }
  }

  /// Reports that a request's body was lost on its way from the page to the network, which can happen with a custom scheme.
  public func lostBody(_ request: PageRequest) {
    let held = version
    state.withLock { $0.tally.add(.bodyLost, holding: held) }
  }

  /// Reports that a page reached a milestone `milliseconds` after it was opened. Only the first of each kind counts, and a
  /// paint doesn't count if the page was ever hidden, since it waited to become visible.
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

  /// Sends the counts if a batch is due: after an update, when a page is closed, when the app goes to the background, and
  /// at the end.
  /// - Parameter isLast: sends them even if no batch is due.
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

/// The counts since the last batch, each under the version held at the time.
struct Tally {
  private(set) var counts = DeviceCounts()
  /// The version that `counts` belong to.
  private var version: String
  /// Batches of versions that are no longer held.
  private var finished: [DeviceBatch] = []
  /// When the last batch was taken, in continuous nanoseconds.
  private var taken: UInt64?

  /// Nanoseconds between two batches of one version.
  static let pause: UInt64 = 120_000_000_000
  /// The most batches of versions no longer held to keep until an origin answers; beyond that, the oldest are dropped.
  private static let maxFinished = 4

  init(version: String) { self.version = version }

  /// Counts something that happened while a version was held.
  mutating func add(_ count: DeviceCount, _ times: Int64 = 1, holding held: String) {
    if held != version { end(holding: held) }
    counts.add(count, times)
  }

  /// Returns batches of everything counted: at most one in two minutes for the version held, and those of other versions at
  /// once.
  mutating func take(at now: UInt64, holding held: String, isLast: Bool = false) -> [DeviceBatch] {
    let isDue = taken.map { now >= $0.addingClamped(Self.pause) } ?? true
    if held != version || isDue || isLast { end(holding: held) }
    guard !finished.isEmpty else { return [] }
    taken = now
    defer { finished = [] }
    return finished
  }

  private mutating func end(holding held: String) {
    // Without a manifest no request could have been answered.
    if !counts.isEmpty, let number = ManifestVersion(text: version), number > .none {
      finished.append(DeviceBatch(version: number, counts: counts))
      if finished.count > Self.maxFinished { finished.removeFirst() }
    }
    version = held
    counts = DeviceCounts()
  }
}

extension PassReason {
  /// Whether a device might have answered: a request that no manifest can list isn't a miss.
  var countsAsPassed: Bool { self != .foreignHost && self != .notCacheable }
}
