import Manifests
import Platform
import Store

/// Which versions devices report: one poll in 64 is counted, by day, for a week.
final class PollCensus: Sendable {
  private struct Key: Hashable {
    let channel: Int64
    let version: Int64
  }

  private let counts = Locked<[Key: Int]>([:])
  /// Versions that are counted between two writes; nobody can fill the memory with invented ones.
  private static let mostKeys = 4096

  /// One event loop's part, which takes the lock for one poll in 64 only.
  struct Sampler {
    private let census: PollCensus
    private var polls: UInt32 = 0

    init(_ census: PollCensus) { self.census = census }

    @inline(__always)
    mutating func saw(_ version: Int64, of channel: Int64) {
      polls &+= 1
      if polls & 63 == 0 { census.add(version, of: channel) }
    }
  }

  private func add(_ version: Int64, of channel: Int64) {
    counts.withLock { counts in
      let key = Key(channel: channel, version: version)
      if counts[key] != nil || counts.count < Self.mostKeys { counts[key, default: 0] += 1 }
    }
  }

  /// Writes what was counted, then tells the versions that 1 % of the week's polls reported.
  func commonVersions(of channel: Int64, _ store: Store) throws(StoreError) -> [ManifestVersion] {
    try flush(to: store)
    return try store.derived.commonVersions(of: channel)
  }

  func flush(to store: Store) throws(StoreError) {
    let taken = counts.withLock { counts in
      defer { counts = [:] }
      return counts.map { (channel: $0.key.channel, version: $0.key.version, polls: $0.value) }
    }
    let today = Clock.unixMilliseconds() / 86_400_000
    if !taken.isEmpty { try store.derived.count(taken, day: today, oldest: today - 7) }
  }
}
