import Manifests
import System

/// A refusal of the API, as RFC 9457 tells problems.
package struct Problem: Error, Hashable, Sendable {
  /// The status of the answer (RFC 9110 §15).
  package let status: Int
  /// A word that stays the same, for programs, e.g. `url-conflict`.
  package let code: String
  /// The status in words.
  package let title: String
  /// What is wrong and what to do, for people. Nil: whoever answered had no more to say.
  package let detail: String?
  /// Members of this kind of problem alone.
  package var members: JSONObject
  /// The methods that are answered instead: the Allow field.
  package var allow: String?
  /// Seconds after which it is worth another try: the Retry-After field.
  package var retryAfter: Int?
  /// Where the client that was refused had its token from; nil: it sent none, or nobody said.
  package var tokenSource: String?

  package init(
    status: Int, title: String, code: String, detail: String?, members: JSONObject = JSONObject()
  ) {
    self.status = status
    self.title = title
    self.code = code
    self.detail = detail
    self.members = members
  }

  /// What an answer's body says; nil for one that is no problem document.
  package init?(status: Int, body: [UInt8]) {
    guard let json = try? JSONValue.parse(body), var members = json.object, let code = json["code"]?.string
    else {
      return nil
    }
    self.status = status
    self.code = code
    title = Self.line(json["title"]?.string ?? code)
    // Lists have a line for each; a line of somebody else's begins as no line of this program does.
    detail = json["detail"]?.string.map { text in
      text.split(separator: "\n", omittingEmptySubsequences: false).map { Self.line(String($0)) }
        .joined(separator: "\n  ").replacing("\n    ", with: "\n  ")
    }
    for key in ["code", "detail", "status", "title", "type"] { members[key] = nil }
    self.members = members
  }

  /// A text of whatever answers there, for a terminal: no character in it moves the cursor or begins a line of its own.
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

  /// A URL that another bundle of the channel holds with other bytes.
  package struct Conflict: Hashable, Sendable, Codable {
    package let bundle: String
    /// Of those bytes, as hexadecimal digits.
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
  /// The digests that the origin still lacks; for `missing-blobs`.
  package var missing: [SHA256] { list("missing") }

  /// An older origin's members may be others: what can't be read says less, not nothing.
  private func list<Element: Decodable>(_ key: String) -> [Element] {
    (members[key]?.array ?? []).compactMap { try? $0.decode(Element.self) }
  }
}
