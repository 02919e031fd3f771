/// Decides what is answered. One per event loop, used on that loop's thread only, so it may keep state.
package protocol Handler: AnyObject {
  /// Answers a request; must not block.
  func handle(_ request: borrowing Request) -> Answer
}
