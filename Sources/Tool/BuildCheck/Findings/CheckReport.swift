import Values

/// The findings of a build's check.
package struct CheckReport: Hashable, Sendable {
  /// The findings by file, line and column.
  package private(set) var findings: [Finding] = []
  /// The number of files, and the bytes read of them.
  package var files = 0
  package var bytesRead: Int64 = 0
  /// The URLs of files with a secret that were allowed to have one.
  package var allowedSecrets: [ResourceURL] = []

  package init() {}

  package var errors: Int { findings.count { $0.severity == .error } }
  package var warnings: Int { findings.count - errors }

  /// Adds findings.
  package mutating func add(_ more: some Sequence<Finding>) {
    findings.append(contentsOf: more)
    findings.sort { $0.order < $1.order }
  }

  package var json: JSONValue {
    [
      "bytesRead": .integer(bytesRead), "errors": .integer(errors), "files": .integer(files),
      "findings": .array(findings.map(\.json)), "warnings": .integer(warnings),
    ]
  }
}

extension Finding {
  fileprivate var json: JSONValue {
    [
      "column": column.map { .integer($0) } ?? .null, "file": place.map { .string($0) } ?? .null,
      "line": line.map { .integer($0) } ?? .null, "message": .string(message), "rule": .string(rule.rawValue),
      "severity": .string(severity.rawValue),
    ]
  }
}

/// What a check leaves out.
package struct CheckOptions: Hashable, Sendable {
  package var off: Set<CheckRule>
  /// Targets whose references aren't reported: paths below the bundle's base, or whole URLs.
  package var ignore: [Glob]

  /// The files that may have secrets: paths below the published folder, or as given on the command line.
  package var allowedSecrets: Set<String> = []

  /// Base URLs of bundles that aren't checked: everything below them is theirs.
  package var others: [BaseURL] = []

  package static let all = CheckOptions()
  package static let none = CheckOptions(off: Set(CheckRule.optional))

  package init(off: Set<CheckRule> = [], ignore: [Glob] = []) {
    self.off = off
    self.ignore = ignore
  }

  /// Whether a finding should be reported.
  package func wants(_ finding: Finding) -> Bool {
    if finding.rule == .secret { return true }
    if off.contains(finding.rule) { return false }
    guard let target = finding.problem.target else { return true }
    return !ignore.contains { $0.matches(target) }
  }

  /// Whether all rules that can be are off.
  package var isOff: Bool { off.isSuperset(of: CheckRule.optional) }
}
