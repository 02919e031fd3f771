import System

/// The bytes of small files as they were hashed, so that neither the check nor the upload opens them again.
package final class RetainedBytes: Sendable {
  /// Bytes of the largest file that is kept; larger ones are sent alone.
  static let small = UploadPlan.packed - 1
  /// Bytes of all that are kept.
  private static let limit = 64 << 20

  private struct State {
    var files: [PathKey: [UInt8]] = [:]
    var count = 0
  }

  private let state = Locked(State())

  package init() {}

  /// Keeps a file's bytes, while there is room.
  func keep(_ bytes: [UInt8], of location: String) {
    let path = PathKey(location)
    state.withLock { state in
      guard state.count + bytes.count <= Self.limit else { return }
      state.count += bytes.count
      state.files[path] = bytes
    }
  }

  /// What was read at a path; nil where it isn't kept.
  func bytes(of location: String) -> [UInt8]? {
    let path = PathKey(location)
    return state.withLock { $0.files[path] }
  }
}
