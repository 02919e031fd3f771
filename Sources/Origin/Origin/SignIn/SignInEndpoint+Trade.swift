import HTTP
import Identity
import OriginAPI
import Store
import System
import Values

extension SignInEndpoint {
  /// Milliseconds for which a job's token is good.
  private static let jobTime: Int64 = 15 * 60_000
  /// Milliseconds: how old an ID token may be, and how far its end may be away.
  private static let longest: Int64 = 24 * 3_600_000

  /// `POST /auth/trade`: a job's ID token for a token of 15 minutes.
  func trade(_ body: TradeRequest, from peer: IPAddress) throws -> Response {
    guard let text = body.token, let hash = body.secretHash.flatMap(SHA256.init(hex:)) else {
      throw Problem.badRequest(
        "\"token\" must be the job's ID token, and \"secretHash\" the sha256 of 32 random bytes: 64 lower-case hexadecimal "
          + "digits")
    }
    do {
      let token = try traded(text, hash, as: body.identity, from: peer)
      counts.noteSuccess(.trade)
      return .json(TradeAnswer(token), .created)
    } catch {
      let problem = (error as? IdentityError).map(Problem.init) ?? Problem(error)
      counts.noteRefusal(.trade, problem.code, problem.detail ?? problem.title, from: peer)
      // A provider that is down isn't the job's fault, nor are several identities that fit.
      if problem.status == 403 || problem.status == 400 { try noteFailure(of: peer) }
      throw problem
    }
  }

  private func traded(_ text: String, _ hash: SHA256, as name: String?, from peer: IPAddress) throws
    -> AccessToken
  {
    let idToken = try JSONWebToken(text)
    let known = try store.identities().filter { $0.removedAt == nil }
    let provider = try issuers.provider(for: idToken, among: Set(known.map(\.issuer)))
    let ofIssuer = known.filter { UTF8Order.areEqual($0.issuer, provider.issuer.text) }
    let rules = IDTokenRules(
      issuer: provider.issuer, recipient: .audience(Array(Set(ofIssuer.map(\.audience))).sorted()),
      maxAge: Self.longest, maxLife: Self.longest)
    // The signature before anything is told of the identities.
    let claims = try provider.verify(idToken, by: rules)
    let identity = try Self.identity(named: name, of: claims, among: ofIssuer)
    let trade = TradedToken(
      jwt: idToken.digest, secretHash: hash, run: Self.run(claims), subject: claims.subject,
      issuer: claims.issuer, jwtExpiresAt: claims.expiresAt, expiresAt: store.now + Self.jobTime)
    return try store.trade(
      trade, for: identity.name, by: Actor(name: identity.name, address: Self.address(peer)))
  }

  /// Returns the one identity that a job may act as.
  /// - Throws: 403 if there is none; 409 if there are several, and the job doesn't say which.
  private static func identity(named name: String?, of claims: Claims, among identities: [JobIdentity])
    throws(Problem) -> JobIdentity
  {
    let matching = identities.filter { identity in
      claims.audiences.contains { UTF8Order.areEqual($0, identity.audience) }
        && identity.subject.matches(claims.subject)
    }
    let subject = HumanText.line(claims.subject, limit: 200)
    guard !matching.isEmpty else {
      throw Problem(
        .forbidden, "no-identity",
        "no identity on this origin is for the subject “\(subject)” with this audience; an admin adds one with `xcache identity add`",
        [.init(key: "subject", value: .string(subject))])
    }
    if let name {
      guard let chosen = matching.first(where: { $0.name == name }) else {
        throw Problem(
          .forbidden, "no-identity",
          "identity \"\(HumanText.line(name, limit: 64))\" isn't for the subject “\(subject)” with this audience",
          [.init(key: "subject", value: .string(subject))])
      }
      return chosen
    }
    guard matching.count == 1 else {
      let names = matching.map(\.name).sorted()
      throw Problem(
        .conflict, "several-identities",
        "this job may act as \(names.joined(separator: ", ")); say which one (XCACHE_IDENTITY, or \"identity\")",
        [.init(key: "identities", value: .strings(names))])
    }
    return matching[0]
  }

  /// The claims by which services name a job's run: GitHub, GitLab, CircleCI, Buildkite.
  private static let runClaims = [
    "run_id", "job_id", "pipeline_id", "oidc.circleci.com/job-id", "build_number",
  ]

  /// Returns a job's run, for people who look for it.
  private static func run(_ claims: Claims) -> String? {
    for name in runClaims {
      let number = claims.json[name]?.integer.map(String.init)
      guard let text = number ?? claims.text(of: name), (1...64).contains(text.utf8.count),
        text.utf8.allSatisfy({ ASCII.isUnreserved($0) || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: ":") })
      else { continue }
      return text
    }
    return nil
  }
}

extension TradeAnswer {
  fileprivate init(_ token: AccessToken) {
    self.init(
      id: token.id, name: token.name, scope: token.scope.rawValue,
      expiresAt: Moment(milliseconds: token.expiresAt ?? 0), app: token.app, channel: token.channel,
      bundles: token.bundles?.text)
  }
}
