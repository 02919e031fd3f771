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
    sendSamples()
    let (version, now, damage) = (device.version, Clock.continuousNanoseconds(), device.takeDamage())
    let countsPolls = device.countsPolls
    let batches = state.withLock { state in
      state.tally.add(.damaged, damage, holding: version)
      return state.tally.take(at: now, holding: version, isLast: isLast, countsPolls: countsPolls)
    }
    for batch in batches { device.send(batch) }
  }
}

extension PassReason {
  /// Whether a device might have answered: a request that no manifest can list isn't a miss.
  var countsAsPassed: Bool { self != .foreignHost && self != .notCacheable }
}
