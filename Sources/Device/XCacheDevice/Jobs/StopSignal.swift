import System

/// A cancellation flag for a job or a page's fetch.
package final class StopSignal: Sendable {
  private let flag = Locked(false)

  package init() {}

  package var isSet: Bool { flag.withLock { $0 } }

  func set() { flag.withLock { $0 = true } }
}
