import Values

/// What a verified ID token says of its subject.
package struct Claims: Hashable, Sendable {
  /// All claims, those of userinfo among them if it was asked.
  package private(set) var json: JSONValue
  /// Who made the token: exactly the issuer that was expected.
  package let issuer: String
  /// Who it is about: never given to another by the same issuer.
  package let subject: String
  /// Whom it is for.
  package let audiences: [String]
  /// Its end, in milliseconds since 1970.
  package let expiresAt: Int64
  /// When it was made, in milliseconds since 1970.
  package let issuedAt: Int64

  /// Returns the values of a claim: a string, or the strings of an array; empty if there is none.
  ///
  /// A name is that of a member, such as `groups` or `https://acme.com/roles`, or else a path through objects, such as
  /// `realm_access.roles`.
  package func values(of claim: String) -> [String] {
    switch Self.value(of: claim, in: json) {
    case .string(let text)?: [text]
    case .array(let values)?: values.compactMap(\.string)
    default: []
    }
  }

  /// Returns the text of a claim; nil if it is missing, empty, or anything but a string.
  package func text(of claim: String) -> String? {
    guard let text = Self.value(of: claim, in: json)?.string, !text.isEmpty else { return nil }
    return text
  }

  /// Whether the claim `email` can be believed: there is one, and the issuer doesn't say that it didn't verify it.
  package var isEmailVerified: Bool {
    guard text(of: "email") != nil else { return false }
    switch json["email_verified"] {
    case nil, .bool(true)?, .string("true")?: return true
    default: return false
    }
  }

  /// Whether there is a claim of this name, of whatever form.
  func has(_ claim: String) -> Bool { Self.value(of: claim, in: json) != nil }

  private static func value(of claim: String, in json: JSONValue) -> JSONValue? {
    if let value = json[claim] { return value }
    return claim.split(separator: ".", omittingEmptySubsequences: false).reduce(Optional(json)) {
      value, name in
      value?[String(name)]
    }
  }

  /// Adds the claims of userinfo that the token doesn't have; those that it has stay. An address of the token that isn't the one of
  /// userinfo isn't verified by what userinfo says of its own.
  mutating func add(_ userinfo: JSONObject) {
    guard var object = json.object else { return }
    if let own = object["email"], let other = userinfo["email"], own != other, object["email_verified"] == nil
    {
      object["email_verified"] = .bool(false)
    }
    for member in userinfo.members where object[member.key] == nil { object[member.key] = member.value }
    json = .object(object)
  }

  init(
    json: JSONValue, issuer: String, subject: String, audiences: [String], expiresAt: Int64, issuedAt: Int64
  ) {
    self.json = json
    self.issuer = issuer
    self.subject = subject
    self.audiences = audiences
    self.expiresAt = expiresAt
    self.issuedAt = issuedAt
  }
}
