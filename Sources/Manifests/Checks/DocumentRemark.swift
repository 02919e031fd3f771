/// Something to say of a document that somebody wrote, and the place of it.
package struct DocumentRemark: Hashable, Sendable, CustomStringConvertible {
  package enum Severity: String, Hashable, Sendable {
    /// The document isn't taken.
    case error
    /// It is taken, but hardly does what was meant.
    case warning
    /// It is taken; one should know this.
    case note
  }

  package let path: JSONPath
  package let problem: DocumentProblem
  package let severity: Severity

  package init(_ path: JSONPath, _ problem: DocumentProblem) {
    self.path = path
    self.problem = problem
    severity = problem.severity
  }

  /// `error: $.config[0].url: …`
  package var description: String { "\(severity.rawValue): \(path): \(problem.words)" }

  package var json: JSONValue {
    [
      "message": .string(problem.words), "path": .string(path.text), "severity": .string(severity.rawValue),
    ]
  }
}
