/// Decides what is answered. One per event loop, used on that loop's thread only, so it may keep state.
package protocol Handler: AnyObject {
  /// Answers a request; must not block.
  func handle(_ request: borrowing Request) -> Answer
  /// Whether the blocking work for a request is done by the workers that are kept for some: whatever is asked for
  /// besides, it can't keep those busy.
  func usesReservedWorkers(_ request: borrowing Request) -> Bool
}

extension Handler {
  package func usesReservedWorkers(_ request: borrowing Request) -> Bool { false }
}
