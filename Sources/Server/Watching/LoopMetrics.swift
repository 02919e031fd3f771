import Synchronization

/// One loop's counters: written by the loop alone, read by anyone without a lock.
final class LoopMetrics: Sendable {
  let accepted = Counter()
  let open = Counter()
  let refused = Counter()
  let timeouts = Counter()
  let bytesIn = Counter()
  let bytesOut = Counter()
  let latencySum = Counter()
  private let statuses = InlineArray<6, Counter> { _ in Counter() }
  private let latency = InlineArray<21, Counter> { _ in Counter() }

  /// Counts one answer.
  func answered(status: UInt16, nanoseconds: UInt64) {
    statuses[min(Int(status) / 100, 5)].add(1)
    latency[LatencyBuckets.index(nanoseconds: nanoseconds)].add(1)
    latencySum.add(nanoseconds)
  }

  /// Answers whose status begins with `family`.
  func answers(family: Int) -> UInt64 { statuses[family].value }

  /// Answers in a latency bucket.
  func answers(bucket: Int) -> UInt64 { latency[bucket].value }
}

/// A number that one thread changes and others read.
struct Counter: ~Copyable, Sendable {
  private let number = Atomic<UInt64>(0)

  var value: UInt64 { number.load(ordering: .relaxed) }

  /// Adds without a locked instruction, which one writer doesn't need.
  @inline(__always)
  func add(_ count: UInt64) {
    number.store(number.load(ordering: .relaxed) &+ count, ordering: .relaxed)
  }

  @inline(__always)
  func subtract(_ count: UInt64) {
    number.store(number.load(ordering: .relaxed) &- count, ordering: .relaxed)
  }
}
