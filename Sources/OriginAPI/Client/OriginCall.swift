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
  package static func escaped(_ text: String) -> String {
    var out = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        out.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        out += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
      }
    }
    return out
  }
}

/// An answer's document: as the value that this version knows, and whole.
package struct OriginAnswer<Value: Sendable>: Sendable {
  package let value: Value
  /// With the members that only a newer origin's clients know.
  package let document: JSONValue
}
