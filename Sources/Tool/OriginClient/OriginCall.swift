import HTTP
import HTTPClient
import Values

/// A request to a path below `/api/v1/`, or `/auth/`.
package struct OriginCall: Sendable {
  package let method: String
  /// The path relative to `area`, percent-encoded, with its query.
  package let path: String
  /// The path that `path` is below, with its slashes.
  package var area = "/api/v1/"
  package var fields: HTTPFields = []
  package var body = HTTPBody.none
  package var timeouts = HTTPTimeouts()
  /// The maximum size of the answer's body, in bytes.
  package var limit = 16 << 20
  /// Whether the request may safely be sent twice; otherwise it gets an Idempotency-Key.
  package var isRepeatable: Bool
  /// Called with the number of bytes sent since the last call; returning false stops the request.
  package var watch: (@Sendable (Int64) -> Bool)?

  /// A request without a body.
  package init(_ method: String, _ path: String) {
    self.method = method
    self.path = path
    isRepeatable = ["GET", "PUT"].contains(method)
  }

  /// A request whose body is `document`.
  package init(_ method: String, _ path: String, _ document: some Encodable) {
    self.init(method, path)
    body = .bytes(JSONValue(encoding: document).canonical)
    fields = [("Content-Type", "application/json")]
  }

  /// A request to a path below `/auth/`: without a token, since it is how one gets one. What it changes is the same if it arrives twice.
  package static func signIn(_ path: String, _ document: (some Encodable)?) -> OriginCall {
    var call = document.map { OriginCall("POST", path, $0) } ?? OriginCall("GET", path)
    call.area = "/auth/"
    call.isRepeatable = true
    return call
  }

  /// Returns `text` percent-encoded for a path segment or query value: all but unreserved characters (RFC 3986 §2.3).
  package static func escaped(_ text: String) -> String { PercentEncoding.encode(text) }
}

/// An answer's document, both decoded and as JSON.
package struct OriginAnswer<Value: Sendable>: Sendable {
  package var value: Value
  /// The whole document, including members that only newer clients know.
  package var document: JSONValue
}
