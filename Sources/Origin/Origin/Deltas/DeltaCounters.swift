import Synchronization

/// Statistics of deltas since startup, for `/metrics`.
final class DeltaCounters: Sendable {
  private let deltas = Atomic<Int>(0)
  private let bytes = Atomic<Int>(0)
  private let failures = Atomic<Int>(0)
  private let nanoseconds = Atomic<UInt64>(0)
  private let served = Atomic<Int>(0)

  func made(bytes count: Int) {
    deltas.add(1, ordering: .relaxed)
    bytes.add(count, ordering: .relaxed)
  }

  /// How many deltas were made.
  var made: Int { deltas.load(ordering: .relaxed) }

  func failed() { failures.add(1, ordering: .relaxed) }
  func worked(nanoseconds count: UInt64) { nanoseconds.add(count, ordering: .relaxed) }
  /// Counts a body sent with `Content-Encoding: dcz`.
  func sentCoded() { served.add(1, ordering: .relaxed) }

  /// Returns the metrics in the Prometheus text format, version 0.0.4.
  ///
  /// - Parameter pending: the number of versions from which deltas are still to be made.
  func prometheusText(pending: Int) -> String {
    func metric(_ name: String, _ type: String, _ help: String, _ value: String) -> String {
      "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n\(name) \(value)\n"
    }
    let seconds = Double(nanoseconds.load(ordering: .relaxed)) / 1e9
    return metric(
      "xcache_deltas_made_total", "counter", "Deltas made.", "\(deltas.load(ordering: .relaxed))")
      + metric("xcache_delta_bytes_total", "counter", "Their bytes.", "\(bytes.load(ordering: .relaxed))")
      + metric(
        "xcache_delta_seconds_total", "counter", "Time spent making deltas, over all threads.", "\(seconds)")
      + metric(
        "xcache_delta_failures_total", "counter", "Deltas that could not be stored.",
        "\(failures.load(ordering: .relaxed))")
      + metric(
        "xcache_delta_versions_pending", "gauge", "Older versions whose deltas are to be made.", "\(pending)")
      + metric(
        "xcache_dcz_answers_total", "counter", "Resources sent as dcz to clients with a dictionary.",
        "\(served.load(ordering: .relaxed))")
  }
}
