import Manifests
import OriginAPI
import System
import Values

/// Formats the counters that devices reported for `status`.
enum ReportOutput {
  private static let maxVersions = 3

  static func lines(_ reports: [AdoptionAnswer.Report]) -> [String] {
    let lines = reports.prefix(maxVersions).flatMap { Self.lines($0.version, Self.counts($0)) }
    return lines.isEmpty ? [] : ["reported by devices, by version:"] + lines
  }

  /// Nothing of counts that aren't shown here, such as those of polls.
  private static func lines(_ version: String, _ counts: DeviceCounts) -> [String] {
    let requests = requests(counts)
    let isFailing = counts[.pageFailed] > 0 || counts[.scriptFailed] > 0
    let why = isFailing ? "why pages failed: `xcache samples --version \(version)`" : ""
    let more = ([statuses(counts)] + DeviceCount.Milestone.allCases.map { times(counts, $0) } + [why]).filter
    {
      !$0.isEmpty
    }
    if requests.isEmpty, more.isEmpty { return [] }
    return ["  version \(version):\(requests.isEmpty ? "" : " \(requests)")"] + more.map { "    \($0)" }
  }

  /// Returns the known counters: an origin may send any values, and unknown names are ignored.
  private static func counts(_ report: AdoptionAnswer.Report) -> DeviceCounts {
    var counts = DeviceCounts()
    for (name, times) in report.counts { if let count = DeviceCount(name: name) { counts.add(count, times) } }
    return counts
  }

  private static func requests(_ counts: DeviceCounts) -> String {
    let all = counts[.local].addingClamped(counts[.passed])
    var words: [String] = []
    if all > 0 {
      words.append("\(Share.text(counts[.local], of: all)) of \(Count.text(all, "request")) from the device")
    }
    let faults: [(DeviceCount, one: String, several: String)] = [
      (.damaged, "file damaged", "files damaged"), (.pageFailed, "page not up", "pages not up"),
      (.scriptFailed, "script failed", "scripts failed"), (.bodyLost, "body lost", "bodies lost"),
    ]
    words += faults.filter { counts[$0.0] > 0 }.map {
      "\(counts[$0.0]) \(counts[$0.0] == 1 ? $0.one : $0.several)"
    }
    return words.joined(separator: ", ")
  }

  private static func statuses(_ counts: DeviceCounts) -> String {
    let classes = [(200, "2xx"), (300, "3xx"), (400, "4xx"), (500, "5xx"), (0, "no answer")]
    let shown = classes.compactMap { status, name in
      DeviceCount.status(status).flatMap { counts[$0] > 0 ? "\(counts[$0]) × \(name)" : nil }
    }
    return shown.isEmpty ? "" : "network responses: " + shown.joined(separator: ", ")
  }

  /// Returns the median and the 90th percentile of pages' times to a milestone.
  private static func times(_ counts: DeviceCounts, _ milestone: DeviceCount.Milestone) -> String {
    let sources = [(true, "from the device"), (false, "from the network")].compactMap { isLocal, name in
      share(0.5, counts, milestone, isLocal).flatMap { half in
        share(0.9, counts, milestone, isLocal).map { "\(name) half \(half), 90 % \($0)" }
      }
    }
    if sources.isEmpty { return "" }
    return (milestone == .paint ? "first paint: " : "load: ") + sources.joined(separator: "; ")
  }

  /// Returns the time within which a share of the pages reached the milestone.
  private static func share(
    _ share: Double, _ counts: DeviceCounts, _ milestone: DeviceCount.Milestone, _ isLocal: Bool
  ) -> String? {
    let bounds = DeviceCount.bounds
    let classes = (bounds + [.max]).map { bound in
      DeviceCount.time(milestone, isLocal: isLocal, bound).map { counts[$0] } ?? 0
    }
    let all = classes.clampedSum { $0 }
    guard all > 0 else { return nil }
    var sum: Int64 = 0
    for (place, count) in classes.enumerated() {
      sum = sum.addingClamped(count)
      guard Double(sum) >= Double(all) * share else { continue }
      return place < bounds.count ? "within \(bounds[place]) ms" : "over \(bounds[bounds.count - 1]) ms"
    }
    return nil
  }
}
