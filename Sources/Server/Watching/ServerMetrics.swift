/// A server's counters at one moment, all loops together.
package struct ServerMetrics: Sendable, Equatable {
  package var accepted: UInt64 = 0
  package var open: UInt64 = 0
  package var refused: UInt64 = 0
  package var timeouts: UInt64 = 0
  package var bytesIn: UInt64 = 0
  package var bytesOut: UInt64 = 0
  /// Answers by the first digit of their status, 0 to 5.
  package var answers = [UInt64](repeating: 0, count: 6)
  /// Answers by latency, see ``LatencyBuckets``.
  package var latency = [UInt64](repeating: 0, count: LatencyBuckets.count)
  /// The sum of all latencies, in nanoseconds.
  package var latencySum: UInt64 = 0

  /// Access lines that the disk was too slow for.
  package var droppedLines: UInt64 = 0

  init(_ loops: [LoopMetrics], _ log: AccessLog?) {
    droppedLines = log?.dropped ?? 0
    for loop in loops {
      accepted &+= loop.accepted.value
      open &+= loop.open.value
      refused &+= loop.refused.value
      timeouts &+= loop.timeouts.value
      bytesIn &+= loop.bytesIn.value
      bytesOut &+= loop.bytesOut.value
      latencySum &+= loop.latencySum.value
      for family in answers.indices { answers[family] &+= loop.answers(family: family) }
      for bucket in latency.indices { latency[bucket] &+= loop.answers(bucket: bucket) }
    }
  }
}
