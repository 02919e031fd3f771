import Manifests
import System

/// The counts since the last batch, each under the version held at the time.
package struct Tally: Sendable {
  /// What was counted under the version held.
  package private(set) var counts = DeviceCounts()
  /// The version that `counts` belong to.
  private var version: String
  /// Batches of versions that are no longer held.
  private var finished: [DeviceBatch] = []
  /// When the last batch was taken, in continuous nanoseconds.
  private var taken: UInt64?

  /// Nanoseconds between two batches of one version.
  package static let pause: UInt64 = 120_000_000_000
  /// The most batches of versions no longer held to keep until an origin answers; beyond that, the oldest are dropped.
  private static let maxFinished = 4

  /// Creates a tally of a device that holds `version`.
  package init(version: String) { self.version = version }

  /// Counts something that happened while a version was held.
  package mutating func add(_ count: DeviceCount, _ times: Int64 = 1, holding held: String) {
    if held != version { end(holding: held) }
    counts.add(count, times)
  }

  /// Returns batches of everything counted: at most one in two minutes for the version held, and those of other versions at
  /// once.
  /// - Parameter countsPolls: whether polls are counted at this time; each batch then says how many, also if there were none.
  package mutating func take(
    at now: UInt64, holding held: String, isLast: Bool = false, countsPolls: Bool = false
  ) -> [DeviceBatch] {
    let isDue = taken.map { now >= $0.addingClamped(Self.pause) } ?? true
    if held != version || isDue || isLast { end(holding: held) }
    guard !finished.isEmpty else { return [] }
    taken = now
    defer { finished = [] }
    return finished.map { DeviceBatch(version: $0.version, counts: $0.counts, countsPolls: countsPolls) }
  }

  private mutating func end(holding held: String) {
    // Without a manifest no request could have been answered.
    if !counts.isEmpty, let number = ManifestVersion(text: version), number > .none {
      finished.append(DeviceBatch(version: number, counts: counts))
      if finished.count > Self.maxFinished { finished.removeFirst() }
    }
    version = held
    counts = DeviceCounts()
  }
}
