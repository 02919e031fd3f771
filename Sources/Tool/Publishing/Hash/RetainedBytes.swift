import System

/// The bytes of small files, retained from hashing so that neither the check nor the upload opens them again.
package final class RetainedBytes: Sendable {
  /// The size of the largest file that is retained; larger ones are sent on their own.
  static let small = UploadPlan.packed - 1
  /// The total size limit, in bytes.
  private static let limit = 64 << 20

  private struct State {
    var files: [PathKey: [UInt8]] = [:]
    var count = 0
  }

  private let state = Locked(State())

  package init() {}

  /// Stores a file's bytes if there is room.
  func keep(_ bytes: [UInt8], of location: String) {
    let path = PathKey(location)
    state.withLock { state in
      guard state.count + bytes.count <= Self.limit else { return }
      state.count += bytes.count
      state.files[path] = bytes
    }
  }

  /// Returns the bytes read from a path, or nil if they weren't retained.
  func bytes(of location: String) -> [UInt8]? {
    let path = PathKey(location)
    return state.withLock { $0.files[path] }
  }
}
