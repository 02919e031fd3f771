import System

/// What a runtime is at.
package struct RuntimeActivity: Hashable, Sendable {
  /// An update runs, or waits for a page that loads.
  package let isUpdating: Bool
  /// Files that earlier updates left are fetched, or will be once the update is done.
  package let fetchesBacklog: Bool
  /// Requests are passed on because the app ended three times while a page loaded.
  package let isInterceptionOff: Bool
}

extension Runtime {
  /// What it is at now.
  package var activity: RuntimeActivity {
    state.withLock {
      RuntimeActivity(
        isUpdating: $0.update != nil, fetchesBacklog: $0.backlog != nil,
        isInterceptionOff: $0.isInterceptionOff)
    }
  }
}
