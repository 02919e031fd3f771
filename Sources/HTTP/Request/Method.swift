/// What a request asks for (RFC 9110 §9); methods this server doesn't know are `other`.
package enum Method: UInt8, Sendable, Equatable {
  case get, head, options, put, post, delete, other

  /// The method spelled by `token`, in which case matters.
  package init(_ token: RawSpan) {
    self =
      if token.equals("GET") {
        .get
      } else if token.equals("HEAD") {
        .head
      } else if token.equals("POST") {
        .post
      } else if token.equals("PUT") {
        .put
      } else if token.equals("DELETE") {
        .delete
      } else if token.equals("OPTIONS") {
        .options
      } else {
        .other
      }
  }

  package var name: StaticString {
    switch self {
    case .get: "GET"
    case .head: "HEAD"
    case .options: "OPTIONS"
    case .put: "PUT"
    case .post: "POST"
    case .delete: "DELETE"
    case .other: "-"
    }
  }
}
