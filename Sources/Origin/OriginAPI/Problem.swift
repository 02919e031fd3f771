import System
import Values

/// A refusal by the API, as an RFC 9457 problem.
package struct Problem: Error, Hashable, Sendable {
  /// The status of the answer (RFC 9110 §15).
  package let status: Int
  /// A stable identifier for programs, e.g. `url-conflict`.
  package let code: String
  /// The status in words.
  package let title: String
  /// What is wrong and what to do, for people; nil if the server had no more to say.
  package var detail: String?
  /// The members specific to this kind of problem.
  package var members: JSONObject
  /// The methods that are allowed instead: the Allow field.
  package var allow: String?
  /// Seconds after which a retry may succeed: the Retry-After field.
  package var retryAfter: Int?
  /// Where the refused client got its token from; nil if it sent none, or didn't say.
  package var tokenSource: String?
  /// Whether `detail` says what helps about that client's token.
  package var isAboutGivenToken = false

  package init(
    status: Int, title: String, code: String, detail: String?, members: JSONObject = JSONObject()
  ) {
    self.status = status
    self.title = title
    self.code = code
    self.detail = detail
    self.members = members
  }

  /// Parses an answer's body; nil if it isn't a problem document.
  package init?(status: Int, body: [UInt8]) {
    guard let json = try? JSONValue.parse(body), var members = json.object, let code = json["code"]?.string
    else {
      return nil
    }
    self.status = status
    self.code = code
    title = Self.line(json["title"]?.string ?? code)
    // Lists have a line each; indentation keeps foreign lines from looking like this program's own.
    detail = json["detail"]?.string.map { text in
      text.split(separator: "\n", omittingEmptySubsequences: false).map { Self.line(String($0)) }
        .joined(separator: "\n  ").replacing("\n    ", with: "\n  ")
    }
    for key in ["code", "detail", "status", "title", "type"] { members[key] = nil }
    self.members = members
  }

  /// Makes a server's text safe for a terminal: no character in it moves the cursor or starts a new line.
  private static func line(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
      return text
    }
    var line = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      line.append(scalar.properties.generalCategory == .control ? "\u{FFFD}" : scalar)
    }
    return String(line)
  }

  /// The body (`application/problem+json`).
  package var document: JSONValue {
    var document = members
    document["code"] = .string(code)
    document["detail"] = detail.map { .string($0) }
    document["status"] = .integer(status)
    document["title"] = .string(title)
    document["type"] = "about:blank"
    return .object(document)
  }

  /// A URL that another bundle of the channel holds with different bytes.
  package struct Conflict: Hashable, Sendable, Codable {
    package let bundle: String
    /// The SHA-256 of those bytes, in hexadecimal.
    package let sha256: String?
    package let url: String

    package init(bundle: String, sha256: String?, url: String) {
      self.bundle = bundle
      self.sha256 = sha256
      self.url = url
    }
  }

  /// Two URLs of one bundle that match each other.
  package struct Duplicate: Hashable, Sendable, Codable {
    package let other: String
    package let url: String

    package init(other: String, url: String) {
      self.other = other
      self.url = url
    }
  }

  /// For `url-conflict`.
  package var conflicts: [Conflict] { list("conflicts") }
  /// For `duplicate-url`.
  package var duplicates: [Duplicate] { list("duplicates") }
  /// For `missing-blobs`: the digests that the origin still lacks.
  package var missing: [SHA256] { list("missing") }

  /// An older origin's members may differ: elements that can't be read are left out.
  private func list<Element: Decodable>(_ key: String) -> [Element] {
    (members[key]?.array ?? []).compactMap { try? $0.decode(Element.self) }
  }
}
