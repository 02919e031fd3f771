import System
import XCacheDevice

extension Runtime {
  /// What the app knows about network and battery, which decides how much updates may use; the app sets it whenever it
  /// changes.
  ///
  /// If several parts of an app change it, each should use `changeConditions`. A runtime with a `fault` ignores conditions
  /// and keeps none.
  public var conditions: Conditions {
    get { device?.conditions ?? Conditions() }
    set { changeConditions { $0 = newValue } }
  }

  /// Changes the conditions atomically, so that concurrent changes aren't lost.
  public func changeConditions(_ change: (inout Conditions) -> Void) {
    guard let device else { return }
    let (old, new) = device.changeConditions(change)
    if new.network != old.network, !new.isOffline { networkChanged() }
    if new.allowsLargeUpdates, !old.allowsLargeUpdates { startBacklog() }
    if new.isForeground, !old.isForeground { restartDeadlines() }
    // The app may be terminated from now on.
    if !new.isForeground, old.isForeground {
      removeCrashMarker()
      writeNote {
        device.endStart()
        device.saveUses()
      }
      sendCounts()
    }
  }
}

extension Conditions {
  /// Whether a trigger leads to a poll.
  func allows(_ trigger: Trigger) -> Bool {
    if isOffline { return false }
    // In the background, everything else can wait until the user is back.
    return isForeground || trigger == .launch || trigger == .push
  }
}
