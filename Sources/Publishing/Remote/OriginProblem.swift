import Manifests

/// An error answer of the origin (RFC 9457).
package struct OriginProblem: Hashable, Sendable {
  package let status: Int
  /// The stable word that tells problems apart, e.g. `url-conflict`.
  package let code: String
  package let title: String
  package let detail: String?
  /// The whole answer, with the members that belong to `code`.
  package let json: JSONValue

  /// Nil for a body that is no such answer.
  init?(status: Int, body: [UInt8]) {
    guard let json = try? JSONValue.parse(body), let code = json["code"]?.string else { return nil }
    self.status = status
    self.code = code
    title = json["title"]?.string ?? code
    detail = json["detail"]?.string
    self.json = json
  }

  package struct Conflict: Hashable, Sendable {
    package let url: String
    /// The bundle that holds the URL with other bytes.
    package let bundle: String
  }

  /// Each URL that another bundle holds with other bytes; for `url-conflict`.
  package var conflicts: [Conflict] {
    (json["conflicts"]?.array ?? []).compactMap { item in
      guard let url = item["url"]?.string else { return nil }
      return Conflict(url: url, bundle: item["bundle"]?.string ?? "?")
    }
  }

  /// The digests that the origin still lacks; for `missing-blobs`.
  var missing: [String] { (json["missing"]?.array ?? []).compactMap(\.string) }
}
