import Synchronization

/// One loop's counters: written only by the loop, read by any thread without a lock.
final class LoopMetrics: Sendable {
  let accepted = Counter()
  let open = Counter()
  let refused = Counter()
  let timeouts = Counter()
  let bytesIn = Counter()
  let bytesOut = Counter()
  let latencySum = Counter()
  let handshakes = Counter()
  let resumed = Counter()
  let failedHandshakes = Counter()
  private let statuses = InlineArray<6, Counter> { _ in Counter() }
  private let latency = InlineArray<21, Counter> { _ in Counter() }

  /// Counts one answer.
  func answered(status: UInt16, nanoseconds: UInt64) {
    statuses[min(Int(status) / 100, 5)].add(1)
    latency[LatencyBuckets.index(nanoseconds: nanoseconds)].add(1)
    latencySum.add(nanoseconds)
  }

  /// Returns the number of answers whose status begins with `family`.
  func answers(family: Int) -> UInt64 { statuses[family].value }

  /// Returns the number of answers in a latency bucket.
  func answers(bucket: Int) -> UInt64 { latency[bucket].value }
}

/// A number written by one thread and read by others.
struct Counter: ~Copyable, Sendable {
  private let number = Atomic<UInt64>(0)

  var value: UInt64 { number.load(ordering: .relaxed) }

  /// Adds without a locked instruction, which a single writer doesn't need.
  @inline(__always)
  func add(_ count: UInt64) {
    number.store(number.load(ordering: .relaxed) &+ count, ordering: .relaxed)
  }

  @inline(__always)
  func subtract(_ count: UInt64) {
    number.store(number.load(ordering: .relaxed) &- count, ordering: .relaxed)
  }
}

/// The upper bounds of the latency buckets.
package enum LatencyBuckets {
  /// The number of buckets. The bounds double from 16 µs to 8.4 s; slower answers are in the last bucket.
  package static let count = 21

  /// Returns the bucket of a duration.
  @inline(__always)
  static func index(nanoseconds: UInt64) -> Int {
    let sixteenths = nanoseconds / 16_000
    return min(UInt64.bitWidth &- sixteenths.leadingZeroBitCount, count &- 1)
  }

  /// Returns the bound of a bucket in seconds; nil for the last.
  package static func bound(_ index: Int) -> Double? {
    index < count - 1 ? Double(16 << index) / 1_000_000 : nil
  }
}
