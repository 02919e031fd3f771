import System
import Values

/// What an ID token has to be, to be believed (OpenID Connect Core §3.1.3.7, RFC 8725).
package struct IDTokenRules: Sendable {
  /// Whom the token must be for.
  package enum Recipient: Hashable, Sendable {
    /// A client at the provider, which asked for the token: `aud` has it, and `azp` doesn't name another one.
    case client(String)
    /// A service for which a job asked for a token: `aud` has one of these texts. Which of them, `Claims.audiences` says.
    case audience([String])
  }

  /// The issuer; `iss` must be the same bytes.
  package var issuer: IssuerURL
  /// Whom the token must be for.
  package var recipient: Recipient
  /// The nonce of the sign-in; nil where there was none, as for jobs.
  package var nonce: String?
  /// How far both clocks may be apart, in milliseconds.
  package var leeway: Int64 = 60_000
  /// How long ago the token may have been made, in milliseconds; nil: any time.
  package var maxAge: Int64?
  /// How far its end may be away, in milliseconds; nil: any time.
  package var maxLife: Int64?

  package init(
    issuer: IssuerURL, recipient: Recipient, nonce: String? = nil, maxAge: Int64? = nil, maxLife: Int64? = nil
  ) {
    self.issuer = issuer
    self.recipient = recipient
    self.nonce = nonce
    self.maxAge = maxAge
    self.maxLife = maxLife
  }

  /// Verifies a token's signature, and then its claims.
  /// - Parameter now: milliseconds since 1970.
  package func verify(_ token: JSONWebToken, with keys: KeySet, at now: Int64) throws(IdentityError) -> Claims
  {
    try keys.verify(token)
    return try claims(of: token, at: now)
  }
}

extension IDTokenRules {
  /// The most bytes of a subject: OpenID Connect Core §2 allows 255, issuers of jobs' tokens write paths.
  private static let subjectLimit = 1024
  /// The end of the year 9999, in seconds since 1970.
  private static let lastSecond = 253_402_300_799.0

  /// The claims of a token whose signature was verified.
  func claims(of token: JSONWebToken, at now: Int64) throws(IdentityError) -> Claims {
    let json = token.payload
    guard let actual = json["iss"]?.string, UTF8Order.areEqual(actual, issuer.text) else {
      throw .issuer(expected: issuer.text, actual: json["iss"]?.string)
    }
    let audiences = try Self.audiences(json)
    try check(audiences, json["azp"])
    let (end, start) = try checkTimes(json, now)
    guard let subject = json["sub"]?.string, (1...Self.subjectLimit).contains(subject.utf8.count),
      !subject.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else { throw .claim("sub") }
    if let nonce {
      guard let actual = json["nonce"]?.string, Secrets.equal(Array(actual.utf8), Array(nonce.utf8)) else {
        throw .nonce
      }
    }
    return Claims(
      json: json, issuer: issuer.text, subject: subject, audiences: audiences, expiresAt: end, issuedAt: start
    )
  }

  /// "an array of case-sensitive strings … In the special case when the JWT has one audience, … a single case-sensitive string"
  /// (RFC 7519 §4.1.3).
  private static func audiences(_ json: JSONValue) throws(IdentityError) -> [String] {
    if let text = json["aud"]?.string { return [text] }
    guard let values = json["aud"]?.array, !values.isEmpty else { throw .claim("aud") }
    let texts = values.compactMap(\.string)
    guard texts.count == values.count else { throw .claim("aud") }
    return texts
  }

  private func check(_ audiences: [String], _ party: JSONValue?) throws(IdentityError) {
    func has(_ text: String) -> Bool { audiences.contains { UTF8Order.areEqual($0, text) } }
    switch recipient {
    case .audience(let accepted):
      guard accepted.contains(where: has) else { throw .audience(expected: accepted, actual: audiences) }
    case .client(let id):
      guard has(id) else { throw .audience(expected: [id], actual: audiences) }
      // "If the ID Token contains multiple audiences, the Client SHOULD verify that an azp Claim is present."
      guard let party else {
        if audiences.count > 1 { throw .authorizedParty(nil) }
        return
      }
      guard let name = party.string else { throw .claim("azp") }
      guard UTF8Order.areEqual(name, id) else { throw .authorizedParty(name) }
    }
  }

  /// Returns the end and the start.
  private func checkTimes(_ json: JSONValue, _ now: Int64) throws(IdentityError) -> (Int64, Int64) {
    guard let end = try Self.moment("exp", json) else { throw .claim("exp") }
    guard let start = try Self.moment("iat", json) else { throw .claim("iat") }
    // Moments end with the year 9999, so that no sum here overflows.
    guard now < end + leeway else { throw .expired(at: end) }
    if let first = try Self.moment("nbf", json), first - leeway > now { throw .notYet(at: first) }
    guard start - leeway <= now else { throw .notYet(at: start) }
    if let maxAge, start + maxAge + leeway < now { throw .tooOld(issuedAt: start) }
    if let maxLife, end - maxLife - leeway > now { throw .tooLongLived(until: end) }
    return (end, start)
  }

  /// A claim of seconds since 1970, "including non-integer values" (NumericDate, RFC 7519 §2), in milliseconds; nil if there is none.
  private static func moment(_ name: String, _ json: JSONValue) throws(IdentityError) -> Int64? {
    guard let value = json[name] else { return nil }
    guard case .number(let text) = value, text.utf8.count <= 32, let seconds = Double(text),
      (0...lastSecond).contains(seconds)
    else { throw .claim(name) }
    return Int64(seconds * 1000)
  }
}
