/// Something that is wrong with a build, and where.
package struct Finding: Hashable, Sendable {
  package enum Severity: String, Comparable, Sendable {
    case error, warning

    package static func < (a: Severity, b: Severity) -> Bool { a == .error && b == .warning }
  }

  package let rule: CheckRule
  package var severity: Severity
  /// The file as it was given on the command line, or the URL of one at the origin; nil: of the whole.
  package let place: String?
  let position: TextPosition?
  let problem: CheckProblem
  /// Further places in the same file that say the same.
  var repeats = 0

  package var line: Int? { position?.line }
  package var column: Int? { position?.column }

  var order: (String, Int, Int, CheckRule) {
    (place ?? "\u{10FFFF}", position?.line ?? 0, position?.column ?? 0, rule)
  }
}
