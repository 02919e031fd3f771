import Manifests
import System

/// What devices run and what went wrong on them, as `status` shows it.
enum AdoptionChart {
  private static let width = 24
  private static let mostVersions = 8
  private static let mostURLs = 3

  /// - Parameter adoption: the API's document.
  static func lines(_ adoption: JSONValue) -> [String] {
    var lines: [String] = []
    for (key, words) in [("hour", "last hour"), ("day", "last day"), ("week", "last week")] {
      guard let polls = adoption[key]?["polls"]?.integer, polls > 0 else { continue }
      lines.append("polls \(words): \(polls)")
      var versions = adoption[key]?["versions"]?.array ?? []
      versions.sort { ($0["polls"]?.integer ?? 0) > ($1["polls"]?.integer ?? 0) }
      for version in versions.prefix(mostVersions) {
        lines.append(line(version["version"]?.string ?? "?", version["polls"]?.integer ?? 0, of: polls))
      }
      if versions.count > mostVersions {
        let rest = versions.dropFirst(mostVersions).clampedSum { $0["polls"]?.integer ?? 0 }
        lines.append(line("further", rest, of: polls))
      }
    }
    return lines + failures(adoption["failures"]?.array ?? [])
  }

  private static func line(_ name: String, _ polls: Int64, of all: Int64) -> String {
    // What an origin tells may be no share.
    let polls = min(max(polls, 0), all)
    let filled = Int((Double(polls) / Double(all) * Double(width)).rounded())
    let permille = polls * 1000 / all
    let share = "\(permille / 10).\(permille % 10) %"
    func padded(_ text: String, _ count: Int) -> String {
      String(repeating: " ", count: max(0, count - text.count)) + text
    }
    return "  \(padded(name, 8)) \(String(repeating: "█", count: filled))"
      + "\(String(repeating: "░", count: width - filled)) \(padded(share, 7))"
  }

  /// Failures by version, the reasons of each after it.
  private static func failures(_ failures: [JSONValue]) -> [String] {
    var order: [String] = []
    var reasons: [String: [(String, Int64)]] = [:]
    for failure in failures {
      let version = failure["version"]?.string ?? "?"
      let reason = failure["reason"]?.string ?? "?"
      let count = failure["failures"]?.integer ?? 0
      if reasons[version] == nil { order.append(version) }
      if let place = reasons[version]?.firstIndex(where: { $0.0 == reason }) {
        let known = reasons[version]?[place].1 ?? 0
        reasons[version]?[place].1 = known.addingClamped(count)
      } else {
        reasons[version, default: []].append((reason, count))
      }
    }
    guard !order.isEmpty else { return [] }
    var lines = ["failures that devices told, last week:"]
    for version in order.prefix(mostVersions) {
      let words = (reasons[version] ?? []).map { "\($0.1) × \($0.0)" }
      lines.append("  version \(version): " + words.joined(separator: ", "))
      lines += urls(failures.filter { $0["version"]?.string == version })
    }
    return lines
  }

  /// The URLs that failed most, the most frequent first.
  private static func urls(_ failures: [JSONValue]) -> [String] {
    var counts: [String: Int64] = [:]
    for failure in failures {
      let url = failure["url"]?.string ?? ""
      counts[url] = (counts[url] ?? 0).addingClamped(failure["failures"]?.integer ?? 0)
    }
    counts[""] = nil
    let most = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    let rest = most.count > mostURLs ? ["    and \(most.count - mostURLs) more"] : []
    return most.prefix(mostURLs).map { "    \($0.value) × \($0.key)" } + rest
  }
}
