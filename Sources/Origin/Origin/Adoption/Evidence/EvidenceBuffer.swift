import Manifests
import Store

/// What devices reported about open rollouts since it was last written.
///
/// Its size is bounded, however many networks report: those beyond the limit aren't told apart, and so count as one.
package struct EvidenceBuffer {
  /// What devices are counted by.
  package struct Key: Hashable {
    let channel: Int64
    let seed: String
    let hour: Int64
    let arm: RolloutArm
    var network: NetworkPrefix?

    /// Creates a key; the channel is its id, and the hour that of the first page, since 1970.
    package init(channel: Int64, seed: String, hour: Int64, arm: RolloutArm, network: NetworkPrefix?) {
      (self.channel, self.seed, self.hour, self.arm, self.network) = (channel, seed, hour, arm, network)
    }
  }

  /// How many kinds of reports are told apart.
  static let limit = 65_536

  private var counts: [Key: (opened: Int64, failed: Int64)] = [:]

  /// Creates an empty buffer.
  package init() {}

  /// Counts a report.
  package mutating func add(opened: Int64, failed: Int64, _ key: Key) {
    var key = key
    if counts[key] == nil, counts.count >= Self.limit { key.network = nil }
    let sums = counts[key] ?? (0, 0)
    counts[key] = (sums.opened + opened, sums.failed + failed)
  }

  /// Returns what was added since the last call.
  package mutating func take() -> [EvidenceCount] {
    defer { counts = [:] }
    return counts.map { key, sums in
      EvidenceCount(
        channel: key.channel, seed: key.seed, hour: key.hour, arm: key.arm, network: key.network,
        opened: sums.opened, failed: sums.failed)
    }
  }
}
