import Values

/// A problem of a document, with its place and severity.
package struct DocumentRemark: Hashable, Sendable, CustomStringConvertible {
  /// Whether a document with this remark may be published.
  package enum Severity: String, Hashable, Sendable {
    /// The document is refused.
    case error
    /// The document is accepted, but probably doesn't do what was meant.
    case warning
    /// The document is accepted; its author should know this.
    case note
  }

  /// Where in the document.
  package let path: JSONPath
  /// What is wrong there.
  package let problem: DocumentProblem
  /// Whether the document may be published.
  package let severity: Severity

  package init(_ path: JSONPath, _ problem: DocumentProblem) {
    self.path = path
    self.problem = problem
    severity = problem.severity
  }

  /// `error: $.config[0].url: …`
  package var description: String { "\(severity.rawValue): \(path): \(problem.message)" }

  /// The remark as JSON, as in answers of the API.
  package var json: JSONValue {
    [
      "message": .string(problem.message), "path": .string(path.text), "severity": .string(severity.rawValue),
    ]
  }
}

/// The place of a value in a document, as a JSONPath (RFC 9535): `$.config[0]['odd key']`.
package struct JSONPath: Hashable, Sendable, CustomStringConvertible {
  package let text: String

  /// The whole document.
  package static let root = JSONPath(text: "$")

  private init(text: String) { self.text = text }

  package var description: String { text }

  /// Returns the path of an object's member.
  package func member(_ key: String) -> JSONPath {
    if Self.isShorthand(key) { return JSONPath(text: "\(text).\(key)") }
    var quoted = ""
    for scalar in key.unicodeScalars.prefix(80) {
      switch scalar {
      case "'", "\\": quoted += "\\\(scalar)"
      case _ where scalar.properties.generalCategory == .control: quoted += "\u{FFFD}"
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return JSONPath(text: "\(text)['\(quoted)\(key.unicodeScalars.count > 80 ? "…" : "")']")
  }

  /// Returns the path of an array's element, counted from 0.
  package func element(_ index: Int) -> JSONPath { JSONPath(text: "\(text)[\(index)]") }

  /// RFC 9535, section 2.5.1.1, "member-name-shorthand", in ASCII.
  private static func isShorthand(_ key: String) -> Bool {
    guard let first = key.utf8.first, key.utf8.count <= 80, !ASCII.isDigit(first) else { return false }
    return key.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || $0 == UInt8(ascii: "_") }
  }
}
