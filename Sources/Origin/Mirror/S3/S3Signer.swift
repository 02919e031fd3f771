import HTTP
import HTTPClient
import System
import Values

/// Signs requests (AWS Signature Version 4, "Create a signed AWS API request").
struct S3Signer: Sendable {
  let accessKey: String
  let secretKey: String
  let sessionToken: String?
  let region: String

  /// A request before it is signed.
  struct Request {
    var method: String
    var host: String
    /// The escaped path.
    var path: String
    /// Names and values, not escaped.
    var query: [(String, String)] = []
    /// The fields to sign in addition to Host and those of the signature.
    var fields: HTTPFields = []
    /// The payload's sha256 in lowercase hexadecimal.
    var payloadHash: String
  }

  /// Returns all fields to send except Host; `seconds` is the time since 1970.
  func fields(for request: Request, at seconds: Int64) -> HTTPFields {
    let stamp = Self.timestamp(seconds)
    let day = String(stamp.prefix(8))
    var signed = request.fields.map { ($0.name.lowercased(), $0.value) }
    signed += [("host", request.host), ("x-amz-content-sha256", request.payloadHash), ("x-amz-date", stamp)]
    if let sessionToken { signed.append(("x-amz-security-token", sessionToken)) }
    signed.sort { $0.0 < $1.0 }
    let names = signed.map(\.0).joined(separator: ";")
    let canonical = [
      request.method, request.path, Self.query(request.query),
      signed.map { "\($0.0):\($0.1)\n" }.joined(), names, request.payloadHash,
    ].joined(separator: "\n")
    let scope = "\(day)/\(region)/s3/aws4_request"
    let toSign = ["AWS4-HMAC-SHA256", stamp, scope, SHA256.of(Array(canonical.utf8)).hex].joined(
      separator: "\n")
    let signature = Hex.encode(HMAC.sha256(key(day), Array(toSign.utf8)).span.bytes)
    let authorization =
      "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
    var fields = HTTPFields(signed.filter { $0.0 != "host" })
    fields.add("Authorization", authorization)
    return fields
  }

  private func key(_ day: String) -> [UInt8] {
    [day, region, "s3", "aws4_request"].reduce(Array("AWS4\(secretKey)".utf8)) {
      HMAC.sha256($0, Array($1.utf8))
    }
  }

  /// Returns the query in the order and form in which it is signed and sent.
  static func query(_ items: [(String, String)]) -> String {
    items.map { (PercentEncoding.encode($0.0), PercentEncoding.encode($0.1)) }.sorted { $0 < $1 }.map {
      "\($0.0)=\($0.1)"
    }
    .joined(separator: "&")
  }

  /// Formats a time as `20130524T000000Z`.
  static func timestamp(_ seconds: Int64) -> String {
    CivilTime(seconds: seconds).text.filter { $0 != "-" && $0 != ":" }
  }
}
