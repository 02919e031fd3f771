import Synchronization

/// What was done for packs since the start, for `/metrics`.
final class PackCounters: Sendable {
  private let packs = Atomic<Int>(0)
  private let bytes = Atomic<Int>(0)
  private let failures = Atomic<Int>(0)
  private let announcements = Atomic<Int>(0)

  func made(bytes count: Int64) {
    packs.add(1, ordering: .relaxed)
    bytes.add(Int(clamping: count), ordering: .relaxed)
  }

  func failed() { failures.add(1, ordering: .relaxed) }
  /// An answer was rendered that names a pack.
  func announced() { announcements.add(1, ordering: .relaxed) }

  /// In the Prometheus text format, version 0.0.4.
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
        "xcache_packs_announced_total", "Answers rendered that name a pack.",
        announcements.load(ordering: .relaxed))
  }
}
