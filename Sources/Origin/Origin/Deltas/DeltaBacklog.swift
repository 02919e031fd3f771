import Manifests
import OriginAPI
import System

/// The channels for which deltas from older versions are still to be made, and their progress.
final class DeltaBacklog: Sendable {
  typealias Progress = ChannelOverview.DeltaProgress

  private struct State {
    /// By channel and the version that the deltas lead to.
    var progress: [Int64: [ManifestVersion: Progress]] = [:]
    var isRunning = false
    var stale: Set<Int64> = []
    /// Why first packs failed, by channel and version.
    var firstFaults: [Int64: [ManifestVersion: String]] = [:]
  }

  private let state = Locked(State())
  private let queue = WorkQueue<Int64>()
  /// The channels that may need a first pack.
  private let firsts = WorkQueue<Int64>()

  /// Adds a channel after a release or at startup, with the versions that polls are answered with. `isStale` means that deltas or
  /// packs offered to devices may be gone.
  func add(_ channel: Int64, at versions: Set<ManifestVersion>, isStale: Bool = false) {
    state.withLock { state in
      state.progress[channel] = Dictionary(
        versions.map { ($0, Progress(version: $0)) }, uniquingKeysWith: { $1 })
      state.firstFaults[channel] = state.firstFaults[channel]?.filter { versions.contains($0.key) }
      if isStale { state.stale.insert(channel) }
    }
    queue.addOnce(channel)
  }

  /// Returns whether a channel's patches must be rendered again, and clears the mark.
  func clearStale(_ channel: Int64) -> Bool { state.withLock { $0.stale.remove(channel) != nil } }

  /// Marks the backlog as being worked on from now on.
  func begin() { state.withLock { $0.isRunning = true } }

  /// Marks a channel's patches as to be rendered again.
  func markStale(_ channel: Int64) { state.withLock { _ = $0.stale.insert(channel) } }

  /// Whether deltas that lead to a version are being made. What failed isn't waited for: its end is unknown.
  func isBusy(_ channel: Int64, at version: ManifestVersion) -> Bool {
    state.withLock { state in
      guard state.isRunning, !queue.isStopped, let progress = state.progress[channel]?[version] else {
        return false
      }
      return (progress.pending ?? 1) > progress.failing
    }
  }

  func stop() {
    queue.stop()
    firsts.stop()
  }

  enum Turn {
    case channel(Int64)
    /// No channel was added within the duration.
    case pause
    case end
  }

  /// Returns the next channel. Blocks while there is none.
  func next(within duration: Duration) -> Turn { Self.next(queue, within: duration) }

  private static func next(_ queue: WorkQueue<Int64>, within duration: Duration) -> Turn {
    guard let next = queue.next(within: duration) else { return .pause }
    return next.map { .channel($0) } ?? .end
  }

  /// Puts a channel with more work to do back at the end of the queue.
  func requeue(_ channel: Int64) { queue.addOnce(channel) }

  /// Returns the next channel that may need a first pack. Blocks while there is none.
  func nextFirst(within duration: Duration) -> Turn { Self.next(firsts, within: duration) }

  /// Adds a channel that may need a first pack, after what devices of older versions wait for.
  func addFirst(_ channel: Int64) { firsts.addOnce(channel) }

  /// Notes why a version's first pack failed; nil if it didn't.
  func noteFirst(_ channel: Int64, at version: ManifestVersion, fault: String?) {
    state.withLock { state in
      guard state.progress[channel]?[version] != nil else { return }
      state.firstFaults[channel, default: [:]][version] = fault
    }
  }

  func update(_ channel: Int64, at version: ManifestVersion, _ change: (inout Progress) -> Void) {
    state.withLock { state in
      guard var progress = state.progress[channel]?[version] else { return }
      change(&progress)
      state.progress[channel]?[version] = progress
    }
  }

  /// The progress of a channel. Beside an open candidate, that of both versions together.
  func progress(of channel: Int64) -> Progress? {
    let (all, faults) = state.withLock { state in
      (state.progress[channel].map { Array($0.values) } ?? [], state.firstFaults[channel] ?? [:])
    }
    guard var progress = all.max(by: { $0.version < $1.version }) else { return nil }
    for other in all where other.version != progress.version {
      progress.pending = progress.pending.flatMap { count in other.pending.map { count + $0 } }
      progress.failing += other.failing
      progress.fault = progress.fault ?? other.fault
      progress.makesFirstPack = progress.makesFirstPack ?? other.makesFirstPack
    }
    progress.pending = progress.pending.map { $0 + faults.count }
    progress.failing += faults.count
    progress.fault = progress.fault ?? faults.max { $0.key < $1.key }?.value
    return progress
  }

  /// The number of versions left in all channels; a channel whose number isn't known counts as one.
  var pending: Int {
    state.withLock { state in
      state.progress.values.reduce(0) { $1.values.reduce($0) { $0 + ($1.pending ?? 1) } }
        + state.firstFaults.values.reduce(0) { $0 + $1.count }
    }
  }
}
