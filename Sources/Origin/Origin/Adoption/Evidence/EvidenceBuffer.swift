import Manifests
import Store

/// What devices reported about open rollouts since it was last written.
///
/// Its size is bounded, however many networks report: those beyond the limit aren't told apart, and so count as one.
struct EvidenceBuffer {
  /// What devices are counted by.
  struct Key: Hashable {
    let channel: Int64
    let seed: String
    let hour: Int64
    let arm: RolloutArm
    var network: NetworkPrefix?
  }

  /// How many kinds of reports are told apart.
  static let limit = 65_536

  private var counts: [Key: (opened: Int64, failed: Int64)] = [:]

  mutating func add(opened: Int64, failed: Int64, _ key: Key) {
    var key = key
    if counts[key] == nil, counts.count >= Self.limit { key.network = nil }
    let sums = counts[key] ?? (0, 0)
    counts[key] = (sums.opened + opened, sums.failed + failed)
  }

  /// Returns what was added since the last call.
  mutating func take() -> [EvidenceCount] {
    defer { counts = [:] }
    return counts.map { key, sums in
      EvidenceCount(
        channel: key.channel, seed: key.seed, hour: key.hour, arm: key.arm, network: key.network,
        opened: sums.opened, failed: sums.failed)
    }
  }
}
