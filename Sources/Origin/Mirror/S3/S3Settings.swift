import HTTPClient
import Values

/// The address of an S3-compatible store, with credentials.
package struct S3Settings: Sendable {
  package let bucket: String
  /// The key prefix without leading or trailing slashes; may be empty.
  package let prefix: String
  package let endpoint: BaseURL
  package let region: String
  package let accessKey: String
  package let secretKey: String
  package let sessionToken: String?
  /// Whether URLs are `endpoint/bucket/key` instead of `bucket.endpoint/key`.
  package let isPathStyle: Bool
  let http: HTTPClient

  /// Parses `s3://bucket/prefix`; what flags don't specify comes from the usual AWS environment variables.
  ///
  /// `option` is the source of `endpoint`, for messages; `http` makes the requests.
  /// - Throws: `badPlace`.
  package init(
    _ place: String, endpoint: String?, from option: String = "--endpoint", region: String?,
    environment: [String: String],
    http: HTTPClient = HTTPClient()
  ) throws(MirrorError) {
    self.http = http
    let rest = place.dropFirst("s3://".count)
    let parts = rest.split(separator: "/", maxSplits: 1)
    guard place.hasPrefix("s3://"), let bucket = parts.first else {
      throw .badPlace("\(place) is not of the form s3://bucket/prefix")
    }
    // Credentials don't belong there, and would appear in messages and in the host name.
    guard !bucket.contains("@") else {
      throw .badPlace(
        "the bucket of s3://… contains an @: write s3://bucket/prefix, and set the keys in AWS_ACCESS_KEY_ID and "
          + "AWS_SECRET_ACCESS_KEY")
    }
    self.bucket = String(bucket)
    prefix = parts.count > 1 ? parts[1].split(separator: "/").joined(separator: "/") : ""
    func given(_ names: String...) -> (name: String, value: String)? {
      names.lazy.compactMap { name in environment[name].map { (name, $0) } }.first { !$0.1.isEmpty }
    }
    func variable(_ name: String) -> String? { given(name)?.value }
    let region = region ?? given("AWS_REGION", "AWS_DEFAULT_REGION")?.value ?? "us-east-1"
    self.region = region
    let address = endpoint.map { (option, $0) } ?? given("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    // Stores other than Amazon's rarely have a host name per bucket.
    isPathStyle = address != nil
    let (source, text) = address ?? (place, "https://\(bucket).s3.\(region).amazonaws.com")
    guard let url = try? BaseURL(text) else {
      let shown = text.contains("@") || text.contains("?") ? "its value" : text
      throw .badPlace(
        "\(source) should be the store's address: \(shown) is not a plain http or https URL without user, password and query"
      )
    }
    self.endpoint = url
    guard let accessKey = variable("AWS_ACCESS_KEY_ID"), let secretKey = variable("AWS_SECRET_ACCESS_KEY")
    else {
      throw .badPlace("the store's keys are missing: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    }
    self.accessKey = accessKey
    self.secretKey = secretKey
    sessionToken = variable("AWS_SESSION_TOKEN")
  }

  var name: String { "s3://\(bucket)\(prefix.isEmpty ? "" : "/" + prefix)" }

  /// Returns the key of a mirror's file.
  func key(_ path: String) -> String { prefix.isEmpty ? path : "\(prefix)/\(path)" }

  /// Returns the URL path of a key, escaped once, as S3 signs it.
  func urlPath(_ key: String) -> String {
    let base = String(endpoint.path) + (isPathStyle ? "/\(bucket)" : "")
    return base + "/" + PercentEncoding.encode(key, keepsSlashes: true)
  }

  /// `host` or `host:port`, as in the request's Host field.
  var host: String {
    let rest = endpoint.text.drop { $0 != "/" }.dropFirst(2)
    return String(rest.prefix { $0 != "/" })
  }

  var scheme: String { String(endpoint.text.prefix { $0 != ":" }) }
}
