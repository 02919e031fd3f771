import BuildCheck
import Publishing

/// What the check of a build found, as commands say it.
enum CheckWords {
  /// Findings that a command shows which isn't about the check.
  private static let shown = 12

  static func line(_ finding: Finding, _ terminal: Terminal) -> String {
    let severity = terminal.colour(finding.severity.rawValue, finding.severity == .error ? .red : .yellow)
    return "\(finding.spot)\(severity): \(finding.words) [\(finding.rule.rawValue)]"
  }

  /// The first warnings, and how many more there are.
  static func warnings(_ report: CheckReport, _ terminal: Terminal) -> [String] {
    let warnings = report.findings.filter { $0.severity == .warning }
    var lines = warnings.prefix(shown).map { line($0, terminal) }
    if warnings.count > shown {
      lines.append("… and \(count(warnings.count - shown, "more warning")); `xcache check` lists them all")
    }
    return lines
  }

  static func summary(_ report: CheckReport) -> String {
    "\(count(report.errors, "error")), \(count(report.warnings, "warning")) in \(count(report.files, "file"))"
  }

  private static func count(_ count: Int, _ word: String) -> String {
    "\(count) \(word)\(count == 1 ? "" : "s")"
  }
}
