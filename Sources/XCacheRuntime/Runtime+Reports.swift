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
    state.withLock { $0.tally.counts.add(count) }
  }

  /// The body of a request was lost on its way from the page to the network, as a custom scheme may lose it.
  public func lostBody(_ request: PageRequest) { state.withLock { $0.tally.counts.add(.bodyLost) } }

  /// A page came to a milestone, so many milliseconds after it was opened. The first of each kind counts.
  public func reached(_ milestone: PageMilestone, _ page: OpenPage, after milliseconds: Int64) {
    let kind: DeviceCount.Milestone = milestone == .firstPaint ? .paint : .load
    state.withLock { state in
      guard let open = state.pages[page.id], !open.milestones.contains(milestone),
        let count = DeviceCount.time(kind, isLocal: open.isLocal, milliseconds)
      else { return }
      state.pages[page.id]?.milestones.insert(milestone)
      state.tally.counts.add(count)
    }
  }

  /// Sends what was counted, where it is time: after an update, when a page is closed, when the app goes to the
  /// background, and at the end.
  /// - Parameter isLast: it is time in any case.
  func sendCounts(isLast: Bool = false) {
    guard let device, isOpen, !conditions.isOffline, device.takesBatches else { return }
    let (version, now, damage) = (device.version, Clock.monotonicNanoseconds(), device.takeDamage())
    let batch = state.withLock { state in
      state.tally.counts.add(.damaged, damage)
      return state.tally.take(at: now, holding: version, isLast: isLast)
    }
    if let batch { device.send(batch) }
  }
}

/// What was counted since the last batch, while one version was held.
struct Tally {
  var counts = DeviceCounts()
  private var version: String
  /// When the last batch was made, in monotonic nanoseconds.
  private var taken: UInt64?

  /// Nanoseconds between two batches of one version.
  static let pause: UInt64 = 120_000_000_000

  init(version: String) { self.version = version }

  /// A batch of all that was counted, at most one in two minutes, one when another version is held, and the last one; nil:
  /// not now, or there is nothing to tell.
  mutating func take(at now: UInt64, holding held: String, isLast: Bool = false) -> DeviceBatch? {
    let isOver = isLast || held != version
    if !isOver, let taken, now < taken.addingClamped(Self.pause) { return nil }
    defer {
      version = held
      counts = DeviceCounts()
    }
    // Without a manifest there is nothing to answer from.
    guard !counts.isEmpty, let number = ManifestVersion(text: version), number > .none else { return nil }
    taken = now
    return DeviceBatch(version: number, counts: counts)
  }
}

extension PassReason {
  /// Whether a device might have answered: what no manifest can list is no miss.
  var countsAsPassed: Bool { self != .foreignHost && self != .notCacheable }
}
