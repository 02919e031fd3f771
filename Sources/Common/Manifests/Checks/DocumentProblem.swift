import Values

/// A problem of a prefetch config or a policy.
package enum DocumentProblem: Hashable, Sendable {
  // Of any document.
  /// Not JSON; `line` and `column` count from 1, columns in bytes.
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
  /// A body nested more deeply than readers accept in the document that devices get.
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
  /// An end that has passed.
  case past(Instant)
  case endOfNothing
  case endOfUnknown
  case unknownScript(String)

  /// Whether the problem keeps a document from being published.
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

extension DocumentProblem {
  /// What is wrong and what to do about it; the place precedes it.
  package var message: String {
    switch self {
    case .notJSON(let error, let line?, let column?):
      "\(error.fault) at line \(line), column \(column); \(error.remedy)"
    case .notJSON(let error, _, _): "\(error)"
    case .empty: "the file is empty; write at least []"
    case .kind(.boolean, let needed): "is a boolean; \(Self.list(needed)) is needed"
    case .kind(let found, let needed): "is \(found.message); \(Self.list(needed)) is needed"
    case .unknownKey(let nearest?, _): "unknown key; did you mean \(Quoted.text(nearest))?"
    case .unknownKey(nil, let known): "unknown key; known keys are \(known.joined(separator: ", "))"
    case .missing(let key, let meaning): "\(Quoted.text(key)) is missing: \(meaning)"
    case .code(let code): "the document says code \(code), a failure; push one with code 200"
    case .version: "the version is not a decimal number in quotes; leave it out, the origin assigns it"
    case .tooLarge(let bytes, let limit):
      "the config has \(bytes) bytes, but \(limit) is the limit; devices download it whole, so remove pages"
    case .url(let error): error.description
    case .fragment: "a request URL can't have a #fragment; remove it"
    default: configMessage
    }
  }

  private var configMessage: String {
    switch self {
    case .documentName(let name):
      "the document is named \(Quoted.text(name)), not \"prefetchConfig\"; is it a different document?"
    case .method(let text, let nearest?): "\(Quoted.text(text)) can't be prefetched; did you mean \(nearest)?"
    case .method(let text, nil): "\(Quoted.text(text)) can't be sent ahead; write GET, POST, PUT or DELETE"
    case .paramType(let text): "\(Quoted.text(text)) is not a parameter type; write \"number\" or \"string\""
    case .noParameterName: "a parameter needs a name; write it as the key"
    case .tooManyCalls(let count, let limit):
      "the page has \(count) calls, but \(limit) is the limit; devices send them all at once"
    case .samePage(let first): "the page is listed already, at \(first); put the calls of both under one"
    case .sameCall(let first): "the call is listed already, at \(first); remove one"
    case .tooDeep(let limit):
      "the body is nested deeper than \(limit) levels, which not every device can read; flatten it"
    case .number(let text):
      "the number \(text) is not read the same everywhere; write it as a string, or with fewer digits"
    case .noCalls: "the page has no calls, so nothing is sent for it; add one or remove the page"
    case .bodyOfGET: "iOS doesn't send the body of a GET; use POST, or put the values into the api's query"
    case .bodyParamOfGET: "iOS doesn't send the body of a GET; use \"urlParam\", or POST"
    case .unusedParamTypes: "types apply only to the body; add \"bodyParam\":true or remove them"
    case .actsBeforeTheUser(let method):
      "a \(method) is sent when the page opens, before the user does anything"
    default: policyMessage
    }
  }

  private var policyMessage: String {
    switch self {
    case .pattern(let error): error.description
    case .samePattern(let first): "the pattern is listed already, at \(first); remove one"
    case .tooManyPatterns(let count, let limit):
      "the policy has \(count) patterns, but \(limit) is the limit; combine some with *"
    case .time(let text):
      "\(Quoted.text(text)) is not a valid time; expected one such as 2026-12-01T00:00:00Z"
    case .past(let time): "\(time) has passed; give a later time, or leave out what it ends"
    case .endOfNothing: "there is nothing to end: interception is on and nothing is bypassed; leave it out"
    case .endOfUnknown: "this pattern isn't in \"bypass\"; add it there or remove it here"
    case .unknownScript(let name):
      "the channel has no script \(Quoted.text(name)) with these members; add scripts with `policy script add`"
    default: ""
    }
  }

  private static func list(_ kinds: [JSONKind]) -> String {
    kinds.map(\.message).joined(separator: " or ")
  }
}

extension JSONKind {
  fileprivate var message: String {
    switch self {
    case .null: "null"
    case .boolean: "true or false"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension JSONError {
  /// The offset in the text; nil if the error has no place.
  package var offset: Int? {
    switch self {
    case .unexpected(let at), .trailing(let at), .tooDeep(let at), .tooLarge(let at), .tooMany(let at),
      .number(let at), .escape(let at), .encoding(let at):
      at
    case .ended, .duplicateKey, .member: nil
    }
  }

  /// The position in the text that this is about, as in editors: line and column count from 1, columns in bytes. Nil if it is about
  /// the whole text.
  package func position(in text: [UInt8]) -> (line: Int, column: Int)? {
    guard let offset = self == .ended ? text.count : offset else { return nil }
    let before = text.prefix(offset)
    let start = (before.lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1
    return (before.count { $0 == UInt8(ascii: "\n") } + 1, before.count - start + 1)
  }

  fileprivate var fault: String {
    switch self {
    case .ended: "not JSON: the text ends too early"
    case .trailing: "not JSON: data after the document"
    case .tooDeep: "the JSON is nested deeper than \(JSONReader.depthLimit) levels"
    case .number: "not JSON: invalid number"
    case .escape: "not JSON: invalid escape"
    case .encoding: "not JSON: the string isn't UTF-8"
    default: "not JSON: an unexpected character"
    }
  }

  fileprivate var remedy: String {
    switch self {
    case .tooDeep: "flatten it"
    case .encoding: "save the file as UTF-8"
    case .escape: "write \\\\ for a backslash"
    case .trailing: "remove it"
    case .ended: "it was probably cut off, or a quote or bracket isn't closed"
    default: "check for a missing quote or an extra comma"
    }
  }
}
