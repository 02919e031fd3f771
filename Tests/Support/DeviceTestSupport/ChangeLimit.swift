import System
import TestSupport

@testable import XCacheDevice

/// Fails the nth change of a device's disk, and all after it.
package final class ChangeLimit: Sendable {
  private let left = Locked<Int?>(nil)
  private let error: DeviceError

  package init(_ error: DeviceError) { self.error = error }

  /// Lets `changes` succeed from now on; nil: all.
  package func set(_ changes: Int?) { left.withLock { $0 = changes } }

  /// Counts a change: what a device's folder calls before each.
  package func check() throws(DeviceError) {
    let isOver = left.withLock { left in
      guard let count = left else { return false }
      left = max(0, count - 1)
      return count == 0
    }
    if isOver { throw error }
  }
}

extension DeviceError {
  /// As when the process ends there.
  package static let stopped = file(path: "", call: "stopped", code: 0, reason: "")
  package static let diskFull = file(
    path: "", call: "write", code: Errno.noSpace.rawValue, reason: "No space left on device")
}
