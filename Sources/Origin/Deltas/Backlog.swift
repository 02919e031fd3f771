import Manifests
import System

/// The channels whose deltas on older versions are still to be made, and how far each is.
final class Backlog: Sendable {
  struct Progress: Sendable {
    /// The version that the deltas lead to.
    var version = ManifestVersion.none
    /// Older versions that are left; nil: not yet known.
    var pending: Int?
    var filesDone = 0
    var files = 0
  }

  private struct State {
    var progress: [Int64: Progress] = [:]
    var isRunning = false
    var stale: Set<Int64> = []
  }

  private let state = Locked(State())
  private let queue = WorkQueue<Int64>()

  /// A release was made, or the origin has started.
  /// - Parameter isStale: what devices are told of may be gone.
  func add(_ channel: Int64, at version: ManifestVersion, isStale: Bool = false) {
    state.withLock { state in
      state.progress[channel] = Progress(version: version)
      if isStale { state.stale.insert(channel) }
    }
    queue.addOnce(channel)
  }

  /// Whether a channel's patches are to be rendered anew; asked once.
  func takeStale(_ channel: Int64) -> Bool { state.withLock { $0.stale.remove(channel) != nil } }

  /// Someone works on it from now on.
  func begin() { state.withLock { $0.isRunning = true } }

  /// Whether deltas that lead to a version are still going to be made.
  func isBusy(_ channel: Int64, at version: ManifestVersion) -> Bool {
    state.withLock { state in
      guard state.isRunning, !queue.isStopped, let progress = state.progress[channel] else { return false }
      return progress.version == version && progress.pending != 0
    }
  }

  func stop() { queue.stop() }

  enum Turn {
    case channel(Int64)
    /// None came for so long.
    case pause
    case end
  }

  /// The channel whose turn it is. Blocks while there is none.
  func next(within duration: Duration) -> Turn {
    guard let next = queue.next(within: duration) else { return .pause }
    return next.map { .channel($0) } ?? .end
  }

  /// More is left of a channel: it comes after the others.
  func again(_ channel: Int64) { queue.addOnce(channel) }

  func update(_ channel: Int64, at version: ManifestVersion, _ change: (inout Progress) -> Void) {
    state.withLock { state in
      guard var progress = state.progress[channel], progress.version == version else { return }
      change(&progress)
      state.progress[channel] = progress
    }
  }

  func progress(of channel: Int64) -> Progress? { state.withLock { $0.progress[channel] } }

  /// Versions left over all channels; one that isn't known counts as one.
  var pending: Int { state.withLock { $0.progress.values.reduce(0) { $0 + ($1.pending ?? 1) } } }
}
