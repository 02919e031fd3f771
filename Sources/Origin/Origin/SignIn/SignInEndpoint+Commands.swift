import HTTP
import Identity
import OriginAPI
import Store
import System
import Values

extension SignInEndpoint {
  /// `POST /auth/device`: a command line that wants to be signed in.
  func device(_ body: DeviceSignInRequest, from peer: IPAddress) throws -> Response {
    guard let options else { throw Problem.noProvider }
    let loopback = try Self.loopback(body)
    let deviceCode = Hex.encode(Secrets.random(32).span.bytes)
    let at = store.now
    let added: Result<String, PendingSignIns.Refusal> = pending.with { (table, now) in
      do throws(PendingSignIns.Refusal) {
        return .success(try table.add(deviceCode, loopback, from: peer, at: at, now: now))
      } catch {
        return .failure(error)
      }
    }
    guard case .success(let userCode) = added else { throw Problem.tooManyPending }
    return .json(
      DeviceSignInAnswer(
        deviceCode: loopback == nil ? deviceCode : nil, userCode: userCode,
        verifyURL: "\(options.origin)/console/#/signin/\(userCode)", interval: Int(PendingSignIns.interval),
        expiresIn: Int(PendingSignIns.lifetime)))
  }

  /// Returns where a command line waits for the browser; nil if it polls.
  private static func loopback(_ body: DeviceSignInRequest) throws(Problem) -> PendingSignIns.Loopback? {
    if body.port == nil, body.challenge == nil, body.state == nil { return nil }
    guard let port = body.port, (1...65_535).contains(port), let challenge = body.challenge,
      Base64URL.decode(challenge.utf8)?.count == 32, let state = body.state,
      (16...128).contains(state.utf8.count), state.utf8.allSatisfy(ASCII.isUnreserved)
    else {
      throw .badRequest(
        "\"port\" (1 to 65535), \"challenge\" (the sha256 of the verifier in base64url) and \"state\" (16 to 128 of "
          + "A-Z a-z 0-9 - . _ ~) come together, or none of them")
    }
    return PendingSignIns.Loopback(port: UInt16(port), challenge: challenge, state: state)
  }

  /// `POST /auth/token`: a command line asks for the token of its sign-in.
  func token(_ body: SignInTokenRequest, from peer: IPAddress) throws -> Response {
    guard options != nil else { throw Problem.noProvider }
    switch (body.deviceCode, body.code, body.verifier) {
    case (let deviceCode?, nil, nil) where deviceCode.utf8.count <= 128:
      return try poll(deviceCode, from: peer)
    case (nil, let code?, let verifier?)
    where code.utf8.count <= 128 && SignInSecrets.isVerifier(verifier):
      let session = pending.with { (table, now) in table.trade(code, verifier: verifier, now: now) }
      guard let session else { throw try unknown(from: peer) }
      return try give(session, from: peer)
    default: throw Problem.badRequest("send \"deviceCode\", or \"code\" and \"verifier\"")
    }
  }

  private func poll(_ deviceCode: String, from peer: IPAddress) throws -> Response {
    switch pending.with({ (table, now) in table.poll(deviceCode, now: now) }) {
    case .pending:
      throw Problem(.badRequest, "authorization-pending", "nobody has allowed this sign-in yet; ask again")
    case .slowDown:
      throw Problem(.badRequest, "slow-down", "wait 5 s longer between two requests from now on")
    case .denied:
      counts.noteRefusal(.signIn, "access-denied", "the person at the console said no", from: peer)
      throw Problem(.badRequest, "access-denied", "the person at the console said no")
    case .unknown: throw try unknown(from: peer)
    case .allowed(let session): return try give(session, from: peer)
    }
  }

  private func unknown(from peer: IPAddress) throws(Problem) -> Problem {
    try noteFailure(of: peer)
    counts.noteRefusal(.signIn, "expired-token", "an unknown code of a command line", from: peer)
    return Problem(
      .badRequest, "expired-token",
      "this sign-in is unknown, too old, or was answered before; begin another one")
  }

  /// Creates a session with the rights, and the end, of the one that allowed it.
  private func give(_ allowing: AccessToken, from peer: IPAddress) throws -> Response {
    do {
      try store.checkUsable(allowing)
      return try create(allowing, from: peer)
    } catch StoreError.tokenEnded {
      throw Problem(
        .badRequest, "access-denied", "the session that allowed this has ended; sign in to the console again")
    }
  }

  private func create(_ allowing: AccessToken, from peer: IPAddress) throws -> Response {
    guard let identity = allowing.identity, let end = allowing.expiresAt else {
      throw Problem(
        .badRequest, "access-denied", "only someone who signed in with the provider can allow this")
    }
    let secret = TokenSecret()
    let session = try store.createSession(
      name: allowing.name, hash: secret.hash, grants: allowing.grants,
      identity: SignedInIdentity(
        issuer: identity.issuer, subject: identity.subject, detail: SessionClient.commandLine),
      expiresAt: end, by: Actor(name: allowing.name, address: Self.address(peer)))
    // Ended just now, or revoked with all sessions of the person: this one wasn't among them yet.
    do {
      try store.checkUsable(allowing)
    } catch {
      _ = try store.revokeToken(session.id, by: .local)
      throw error
    }
    counts.noteSuccess(.signIn)
    return .json(
      SignInTokenAnswer(
        token: secret.text(id: session.id), name: session.name,
        scope: (session.grants.map(\.scope).max() ?? session.scope).rawValue,
        expiresAt: Moment(milliseconds: end)))
  }
}

extension Problem {
  fileprivate static var tooManyPending: Problem {
    var problem = Problem(
      .serviceUnavailable, "busy", "too many sign-ins of command lines wait to be allowed; try again later")
    problem.retryAfter = 60
    return problem
  }
}
