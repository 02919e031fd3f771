import BuildCheck
import Manifests
import Publishing
import Values

/// Formats the findings of a build's check.
enum CheckOutput {
  /// How many findings are shown by commands other than `check`.
  private static let shown = 12

  static func line(_ finding: Finding, _ terminal: Terminal) -> String {
    let severity = terminal.colour(finding.severity.rawValue, finding.severity == .error ? .red : .yellow)
    return "\(finding.spot)\(severity): \(finding.message) [\(finding.rule.rawValue)]"
  }

  /// Returns the first warnings, and how many more there are.
  static func warnings(_ report: CheckReport, _ terminal: Terminal) -> [String] {
    let warnings = report.findings.filter { $0.severity == .warning }
    var lines = warnings.prefix(shown).map { line($0, terminal) }
    if warnings.count > shown {
      lines.append(
        "… and \(Count.text(warnings.count - shown, "more warning")); `xcache check --all` lists them all")
    }
    return lines
  }

  static func summary(_ report: CheckReport) -> String {
    "\(Count.text(report.errors, "error")), \(Count.text(report.warnings, "warning")) in \(Count.text(report.files, "file"))"
  }
}

/// Formats the remarks of a document's check.
struct Remarks {
  let file: String
  let remarks: [DocumentRemark]

  /// Returns a line per remark: `prefetch.json: error: $[0].url: …`, with errors in red.
  func lines(_ terminal: Terminal) -> [String] {
    remarks.map { remark in
      let severity =
        switch remark.severity {
        case .error: terminal.colour("error", .red)
        case .warning: terminal.colour("warning", .yellow)
        case .note: "note"
        }
      return "\(file): \(severity): \(remark.path): \(remark.problem.message)"
    }
  }

  var errorCount: Int { remarks.count { $0.severity == .error } }

  /// Returns the failure that ends a command, with exit code 3, or nil if there are no errors.
  func failure(_ end: String) -> Failure? {
    guard errorCount > 0 else { return nil }
    return Failure("\(errorCount) \(errorCount == 1 ? "error" : "errors") in \(file); \(end)", code: .refused)
  }
}
