/// The upper bounds of the latency buckets.
package enum LatencyBuckets {
  /// Bounds in microseconds, each twice the one before: 16 µs to 8.4 s; what is slower is in the last bucket.
  package static let count = 21

  /// The bucket of a duration.
  @inline(__always)
  static func index(nanoseconds: UInt64) -> Int {
    let sixteenths = nanoseconds / 16_000
    return min(UInt64.bitWidth &- sixteenths.leadingZeroBitCount, count &- 1)
  }

  /// The bound of a bucket in seconds; nil for the last.
  package static func bound(_ index: Int) -> Double? {
    index < count - 1 ? Double(16 << index) / 1_000_000 : nil
  }
}
