import System

/// What a runtime is doing.
package struct RuntimeActivity: Hashable, Sendable {
  /// An update is running, or waiting for a page to load.
  package let isUpdating: Bool
  /// Files left over from earlier updates are being fetched, or will be once the update is done.
  package let fetchesBacklog: Bool
  /// Requests are passed on because the app ended three times while a page was loading.
  package let isInterceptionOff: Bool
}

extension Runtime {
  /// What the runtime is doing now.
  package var activity: RuntimeActivity {
    let isOff = isInterceptionOff
    return state.withLock {
      RuntimeActivity(
        isUpdating: $0.update != nil, fetchesBacklog: $0.backlog != nil, isInterceptionOff: isOff)
    }
  }

  /// Whether requests are passed on because of repeated crashes; that ends after a day.
  var isInterceptionOff: Bool {
    guard let since = state.withLock({ $0.offSince }), let device else { return false }
    return CrashMarker.counts(from: since, at: device.time)
  }
}
