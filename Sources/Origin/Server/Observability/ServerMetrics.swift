/// A server's counters at one moment, summed over its loops.
package struct ServerMetrics: Sendable, Equatable {
  /// Connections accepted so far.
  package var accepted: UInt64 = 0
  /// Connections open now.
  package var open: UInt64 = 0
  /// Connections refused for a limit or for lack of a descriptor.
  package var refused: UInt64 = 0
  /// Connections closed by a timeout.
  package var timeouts: UInt64 = 0
  /// Bytes read from clients.
  package var bytesIn: UInt64 = 0
  /// Bytes sent to clients.
  package var bytesOut: UInt64 = 0
  /// Answers by the first digit of their status, 0 to 5.
  package var answers = [UInt64](repeating: 0, count: 6)
  /// Answers by latency, see ``LatencyBuckets``.
  package var latency = [UInt64](repeating: 0, count: LatencyBuckets.count)
  /// The sum of all latencies, in nanoseconds.
  package var latencySum: UInt64 = 0

  /// Completed handshakes; nil if the server doesn't use TLS.
  package var handshakes: UInt64?
  /// How many of them resumed an earlier session.
  package var resumed: UInt64 = 0
  /// Handshakes that weren't completed.
  package var failedHandshakes: UInt64 = 0

  /// Access log lines dropped because the disk, or the reader of standard output, was too slow.
  package var droppedLines: UInt64 = 0

  init(_ loops: [LoopMetrics], _ log: AccessLog?, speaksTLS: Bool) {
    droppedLines = log?.dropped ?? 0
    if speaksTLS { handshakes = loops.reduce(0) { $0 &+ $1.handshakes.value } }
    for loop in loops {
      accepted &+= loop.accepted.value
      open &+= loop.open.value
      refused &+= loop.refused.value
      timeouts &+= loop.timeouts.value
      bytesIn &+= loop.bytesIn.value
      bytesOut &+= loop.bytesOut.value
      latencySum &+= loop.latencySum.value
      resumed &+= loop.resumed.value
      failedHandshakes &+= loop.failedHandshakes.value
      for family in answers.indices { answers[family] &+= loop.answers(family: family) }
      for bucket in latency.indices { latency[bucket] &+= loop.answers(bucket: bucket) }
    }
  }
}

extension ServerMetrics {
  /// The counters in the Prometheus text format, version 0.0.4.
  package var prometheusText: String {
    var text = ""
    func add(_ name: String, _ type: String, _ help: String, _ samples: [(String, String)]) {
      text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
      for (suffix, value) in samples { text += "\(name)\(suffix) \(value)\n" }
    }
    add(
      "http_requests_total", "counter", "Answers by class of status.",
      (1...5).map { ("{class=\"\($0)xx\"}", String(answers[$0])) })
    add("http_connections_open", "gauge", "Connections open now.", [("", String(open))])
    add("http_connections_accepted_total", "counter", "Connections accepted.", [("", String(accepted))])
    add(
      "http_connections_refused_total", "counter", "Connections over a limit or without a descriptor.",
      [("", String(refused))])
    add("http_timeouts_total", "counter", "Connections closed by a timeout.", [("", String(timeouts))])
    add("http_received_bytes_total", "counter", "Bytes read from clients.", [("", String(bytesIn))])
    add("http_sent_bytes_total", "counter", "Bytes sent to clients.", [("", String(bytesOut))])
    add(
      "http_access_lines_dropped_total", "counter",
      "Access log lines dropped because the disk, or the reader of standard output, was too slow.",
      [("", String(droppedLines))])
    if let handshakes {
      add(
        "http_tls_handshakes_total", "counter", "TLS handshakes that were completed.",
        [("", String(handshakes))])
      add(
        "http_tls_resumed_total", "counter", "TLS handshakes that resumed an earlier session.",
        [("", String(resumed))])
      add(
        "http_tls_handshake_failures_total", "counter", "TLS handshakes that were not completed.",
        [("", String(failedHandshakes))])
    }
    add(
      "http_request_duration_seconds", "histogram", "From a request's head to its answer's last write.",
      histogram)
    return text
  }

  private var histogram: [(String, String)] {
    var samples: [(String, String)] = []
    var sum: UInt64 = 0
    for (index, count) in latency.enumerated() {
      sum &+= count
      let bound = LatencyBuckets.bound(index).map { "\($0)" } ?? "+Inf"
      samples.append(("_bucket{le=\"\(bound)\"}", String(sum)))
    }
    samples.append(("_sum", "\(Double(latencySum) / 1e9)"))
    samples.append(("_count", String(sum)))
    return samples
  }
}
