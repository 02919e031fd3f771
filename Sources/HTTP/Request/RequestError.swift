/// Why a request's head or framing is refused; the connection is closed after the answer.
package enum RequestError: Error, Sendable, Equatable, CaseIterable {
  /// Thrown when the first line isn't `method SP target SP HTTP/digit.digit`.
  case requestLine
  /// Thrown when the target has none of the forms of RFC 9112 §3.2, or a bad byte or escape.
  case target
  /// Thrown when the target is longer than the limit.
  case targetTooLong
  /// Thrown when the major version isn't 1.
  case version
  /// Thrown when a line ends without CR, or a CR stands inside one.
  case lineEnd
  /// Thrown when a header line isn't `token ":" value`, is folded, or has control bytes.
  case field
  /// Thrown when the head has too many bytes or too many lines.
  case headTooLarge
  /// Thrown when Host is missing, repeated or malformed.
  case host
  /// Thrown when the body's length is ambiguous or malformed.
  case framing
  /// Thrown when a transfer coding other than `chunked` is named.
  case transferCoding
  /// Thrown when Expect asks for something other than `100-continue`.
  case expectation
  /// Thrown when a field that may stand once stands twice.
  case repeatedField

  /// The answer's status.
  package var status: Status {
    switch self {
    case .targetTooLong: .uriTooLong
    case .version: .versionNotSupported
    case .headTooLarge: .fieldsTooLarge
    case .transferCoding: .notImplemented
    case .expectation: .expectationFailed
    default: .badRequest
    }
  }
}
