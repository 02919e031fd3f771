/// What can be wrong with a prefetch config or a policy.
package enum DocumentProblem: Hashable, Sendable {
  // Of any document.
  /// No JSON; `line` and `column` count from 1, columns in bytes.
  case notJSON(JSONError, line: Int?, column: Int?)
  case empty
  case kind(JSONKind, needed: [JSONKind])
  case unknownKey(nearest: String?, known: [String])
  case missing(String, meaning: String)
  /// The document's `code` isn't 200.
  case code(String)
  case version
  case tooLarge(bytes: Int, limit: Int)
  case url(ResourceURLError)
  case fragment

  // Of a prefetch config.
  case documentName(String)
  case method(String, nearest: String?)
  case paramType(String)
  case noParameterName
  case tooManyCalls(Int, limit: Int)
  case samePage(JSONPath)
  case sameCall(JSONPath)
  case noCalls
  /// A body nested deeper than readers take, framed as devices get it.
  case tooDeep(limit: Int)
  /// A number that readers of JSON don't agree on (RFC 8259 §6): beyond a double's range, or an integer beyond 2^53.
  case number(String)
  case bodyOfGET
  case bodyParamOfGET
  case unusedParamTypes
  case actsBeforeTheUser(String)

  // Of a policy.
  case pattern(MatchPatternError)
  case samePattern(JSONPath)
  case tooManyPatterns(Int, limit: Int)
  case time(String)
  case endOfNothing
  case endOfUnknown
  case unknownScript(String)

  package var severity: DocumentRemark.Severity {
    switch self {
    case .actsBeforeTheUser: .note
    case .bodyOfGET, .bodyParamOfGET, .unusedParamTypes, .noCalls: .warning
    default: .error
    }
  }
}

/// The kinds of JSON values (RFC 8259, section 3).
package enum JSONKind: String, Hashable, Sendable {
  case null, boolean, number, string, array, object

  package init(_ value: JSONValue) {
    switch value {
    case .null: self = .null
    case .bool: self = .boolean
    case .number: self = .number
    case .string: self = .string
    case .array: self = .array
    case .object: self = .object
    }
  }
}
