import Manifests
import Store
import Synchronization
import System

/// Statistics of packs since startup, for `/metrics`.
final class PackCounters: Sendable {
  private let packs = Atomic<Int>(0)
  private let bytes = Atomic<Int>(0)
  private let failures = Atomic<Int>(0)
  private let announcements = Atomic<Int>(0)
  /// Packs that were left out for lack of space, and those that are too large or have a file that is.
  let withoutSpace = LeftOut()
  let tooLarge = LeftOut()

  func made(bytes count: Int64) {
    packs.add(1, ordering: .relaxed)
    bytes.add(Int(clamping: count), ordering: .relaxed)
  }

  /// How many packs were made.
  var made: Int { packs.load(ordering: .relaxed) }

  /// Packs that were left out for one reason.
  final class LeftOut: Sendable {
    private let total = Atomic<Int>(0)
    /// For each channel, the newest version, and the bases of the packs to it that were left out.
    private let known = Locked<[Int64: (version: ManifestVersion, bases: Set<ManifestVersion>)]>([:])

    var count: Int { total.load(ordering: .relaxed) }

    /// Counts a channel's pack that was left out.
    /// - Returns: whether it is the first one to that version.
    func note(_ ends: PackEnds, of channel: Int64) -> Bool {
      let (isNew, isFirst) = known.withLock { known in
        if known[channel]?.version != ends.version { known[channel] = (ends.version, []) }
        let isNew = known[channel]?.bases.insert(ends.base).inserted ?? false
        return (isNew, known[channel]?.bases.count == 1 && isNew)
      }
      // A repeated attempt isn't counted again.
      if isNew { total.add(1, ordering: .relaxed) }
      return isFirst
    }
  }

  func failed() { failures.add(1, ordering: .relaxed) }
  /// Counts a rendered answer that names a pack.
  func announced() { announcements.add(1, ordering: .relaxed) }

  /// The metrics in the Prometheus text format, version 0.0.4.
  var prometheusText: String {
    func metric(_ name: String, _ help: String, _ value: Int) -> String {
      "# HELP \(name) \(help)\n# TYPE \(name) counter\n\(name) \(value)\n"
    }
    return metric("xcache_packs_made_total", "Packs made.", packs.load(ordering: .relaxed))
      + metric("xcache_pack_bytes_total", "Their bytes.", bytes.load(ordering: .relaxed))
      + metric(
        "xcache_pack_failures_total", "Packs that could not be made or stored.",
        failures.load(ordering: .relaxed))
      + metric(
        "xcache_packs_without_room_total", "Packs that were left out because --pack-room was used up.",
        withoutSpace.count)
      + metric(
        "xcache_packs_too_large_total",
        "Packs that were left out because they are larger than --pack-limit, or for a file that is too large.",
        tooLarge.count)
      + metric(
        "xcache_packs_announced_total", "Answers rendered that name a pack.",
        announcements.load(ordering: .relaxed))
  }
}
