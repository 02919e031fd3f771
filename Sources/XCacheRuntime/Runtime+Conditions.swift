import System
import XCacheClient

extension Runtime {
  /// What the app knows of network and battery, which says how much updates may take; the app sets it as it changes.
  ///
  /// Where more than one part of an app does, each takes `changeConditions`. A runtime with a `fault` asks for nothing, and
  /// keeps none.
  public var conditions: Conditions {
    get { device?.conditions ?? Conditions() }
    set { changeConditions { $0 = newValue } }
  }

  /// Changes the conditions in one step: what somebody else changes at the same time stays changed.
  public func changeConditions(_ change: (inout Conditions) -> Void) {
    guard let device else { return }
    let (old, new) = device.changeConditions(change)
    if new.network != old.network, !new.isOffline { networkChanged() }
    if new.allowsLargeUpdates, !old.allowsLargeUpdates { startBacklog() }
    // The app may well be ended now.
    if !new.isForeground, old.isForeground {
      note { device.saveUses() }
      sendCounts()
    }
  }
}

extension Conditions {
  /// Whether a trigger leads to a poll.
  func allow(_ trigger: Trigger) -> Bool {
    if isOffline { return false }
    // Whatever else happens while nobody looks can wait until somebody does.
    return isForeground || trigger == .launch || trigger == .push
  }
}
