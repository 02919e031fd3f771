import Manifests
import OriginAPI
import System

/// Formats the versions and failures of devices for `status`.
enum AdoptionChart {
  private static let width = 24
  private static let maxVersions = 8
  private static let maxURLs = 3

  /// - Parameter isBehindCache: whether a shared cache still answers polls, if one did.
  static func lines(_ adoption: AdoptionAnswer, isBehindCache: Bool) -> [String] {
    var lines: [String] = []
    for (span, words) in [
      (adoption.hour, "last hour"), (adoption.day, "last day"), (adoption.week, "last week"),
    ] where span.polls > 0 {
      lines.append("polls \(words): \(number(span, isBehindCache))")
      let versions = span.versions.sorted { $0.polls > $1.polls }
      for version in versions.prefix(maxVersions) {
        lines.append(line(version.version, version.polls, of: span.polls))
      }
      if versions.count > maxVersions {
        let rest = versions.dropFirst(maxVersions).clampedSum(\.polls)
        lines.append(line("further", rest, of: span.polls))
      }
    }
    if [adoption.hour, adoption.day, adoption.week].contains(where: { $0.sample != nil }) {
      lines.append(
        isBehindCache
          ? "devices without a version aren't in these numbers: a shared cache answers their polls"
          : "a shared cache answered polls until recently: devices without a version are missing in that time"
      )
    }
    return lines + failures(adoption.failures) + ReportOutput.lines(adoption.reports ?? [])
  }

  /// Returns the number of polls, and how sure it is if it was worked out.
  private static func number(_ span: AdoptionAnswer.Polls, _ isBehindCache: Bool) -> String {
    guard let sample = span.sample else { return "\(span.polls)" }
    return "about \(span.polls), \(isBehindCache ? "" : "partly ")\(sample.words)"
  }

  private static func line(_ name: String, _ polls: Int64, of all: Int64) -> String {
    // Counts from an origin may be inconsistent.
    let polls = min(max(polls, 0), all)
    let filled = Int((Double(polls) / Double(all) * Double(width)).rounded())
    let share = Share.text(polls, of: all)
    func padded(_ text: String, _ count: Int) -> String {
      String(repeating: " ", count: max(0, count - text.count)) + text
    }
    return "  \(padded(name, 8)) \(String(repeating: "█", count: filled))"
      + "\(String(repeating: "░", count: width - filled)) \(padded(share, 7))"
  }

  /// Lists failures by version, each with its reasons.
  private static func failures(_ failures: [AdoptionAnswer.Failure]) -> [String] {
    var order: [String] = []
    var reasons: [String: [(String, Int64)]] = [:]
    for failure in failures {
      let version = failure.version
      if reasons[version] == nil { order.append(version) }
      if let index = reasons[version]?.firstIndex(where: { $0.0 == failure.reason }) {
        let known = reasons[version]?[index].1 ?? 0
        reasons[version]?[index].1 = known.addingClamped(failure.failures)
      } else {
        reasons[version, default: []].append((failure.reason, failure.failures))
      }
    }
    guard !order.isEmpty else { return [] }
    var lines = ["failures reported by devices, last week:"]
    for version in order.prefix(maxVersions) {
      let words = (reasons[version] ?? []).map { "\($0.1) × \($0.0)" }
      lines.append("  version \(version): " + words.joined(separator: ", "))
      lines += urls(failures.filter { $0.version == version })
    }
    return lines
  }

  /// Lists the URLs with the most failures, the most frequent first.
  private static func urls(_ failures: [AdoptionAnswer.Failure]) -> [String] {
    var counts: [String: Int64] = [:]
    for failure in failures where !failure.url.isEmpty {
      counts[failure.url] = (counts[failure.url] ?? 0).addingClamped(failure.failures)
    }
    let sorted = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    let rest = sorted.count > maxURLs ? ["    and \(sorted.count - maxURLs) more"] : []
    return sorted.prefix(maxURLs).map { "    \($0.value) × \($0.key)" } + rest
  }
}

/// Formats a share in percent.
enum Share {
  /// Returns a share such as `99.5 %`, rounded to a tenth. `all` must be positive.
  static func text(_ part: Int64, of all: Int64) -> String { "\(tenths(part, of: all)) %" }

  /// Returns the percentage without its sign, such as `99.5`.
  static func tenths(_ part: Int64, of all: Int64) -> String {
    let permille = Int((Double(part) / Double(all) * 1000).rounded())
    return "\(permille / 10).\(permille % 10)"
  }
}

extension AdoptionAnswer.Sample {
  /// Where numbers of polls come from, and how far the shares are from the truth.
  var words: String {
    let source = "from \(batches) \(batches == 1 ? "batch" : "batches") of counts"
    if margin > Self.largestMargin { return "\(source); too few batches to tell" }
    // Numbers from an origin may be inconsistent.
    return "\(source); shares are within \(Share.tenths(max(margin, 0), of: 10_000)) points"
  }

  /// The margin above which shares say nothing, in hundredths of a point.
  private static let largestMargin: Int64 = 2000
}
