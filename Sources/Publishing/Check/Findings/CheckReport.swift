import Manifests

/// What the check of a build found.
package struct CheckReport: Hashable, Sendable {
  /// By file, line and column.
  package private(set) var findings: [Finding] = []
  /// Files, and bytes that were read of them.
  package var files = 0
  package var bytesRead: Int64 = 0

  package init() {}

  package var errors: Int { findings.count { $0.severity == .error } }
  package var warnings: Int { findings.count - errors }

  mutating func add(_ more: some Sequence<Finding>) {
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
      "line": line.map { .integer($0) } ?? .null, "message": .string(words), "rule": .string(rule.rawValue),
      "severity": .string(severity.rawValue),
    ]
  }
}
