import HTTPClient
import Manifests

/// A request below `/api/v1/`.
package struct OriginCall: Sendable {
  package let method: String
  /// Behind `/api/v1/`, escaped, with its query.
  package let path: String
  package var fields: [HTTPField] = []
  package var body = HTTPBody.none
  package var timeouts = HTTPTimeouts()
  /// Bytes of answer that are taken.
  package var limit = 16 << 20
  /// Whether sending it twice does no more than sending it once; otherwise it is given an Idempotency-Key.
  package var isRepeatable: Bool
  /// Told the bytes sent since the last time; false stops the request.
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
    fields = [HTTPField("Content-Type", "application/json")]
  }

  /// `text` as a segment of a path or a value of a query: all but unreserved characters (RFC 3986 §2.3) escaped.
  package static func escaped(_ text: String) -> String { PercentEncoding.encode(text) }
}

/// An answer's document: as the value that this version knows, and whole.
package struct OriginAnswer<Value: Sendable>: Sendable {
  package var value: Value
  /// With the members that only a newer origin's clients know.
  package var document: JSONValue
}
