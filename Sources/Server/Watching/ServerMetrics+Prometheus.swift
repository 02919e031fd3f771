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
    add("http_timeouts_total", "counter", "Connections given up for slowness.", [("", String(timeouts))])
    add("http_received_bytes_total", "counter", "Bytes read from clients.", [("", String(bytesIn))])
    add("http_sent_bytes_total", "counter", "Bytes sent to clients.", [("", String(bytesOut))])
    add(
      "http_access_lines_dropped_total", "counter", "Access lines that the disk was too slow for.",
      [("", String(droppedLines))])
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
