import HTTP
import OriginAPI
import Store
import System
import Values

/// What someone who signed in decides on and sees of their own: command lines that want to be signed in, and sessions.
struct SignInHandler: APIHandler {
  let context: RequestContext

  private var pending: PendingSignInTable { context.api.signIns }

  /// `GET /signins/{userCode}`
  func show() throws -> Response {
    try checkPerson()
    let code = try userCode()
    guard let entry = pending.with({ (table, now) in table.entry(code, now: now) }), entry.decision == nil
    else {
      throw try unknown(code)
    }
    return .json(
      PendingSignIn(
        userCode: entry.userCode, address: SignInEndpoint.address(entry.address),
        at: Moment(milliseconds: entry.at), kind: entry.loopback == nil ? "device" : "loopback"))
  }

  /// `POST /signins/{userCode}`
  func decide(_ body: SignInDecision) throws -> Response {
    try checkPerson()
    guard let allow = body.allow else { throw Problem.badRequest("\"allow\" must be true or false") }
    let code = try userCode()
    let decided = pending.with { (table, now) in table.decide(code, allow: allow, by: caller, now: now) }
    guard let decided else { throw try unknown(code) }
    return .json(SignInDecisionAnswer(redirect: decided.redirect))
  }

  /// `GET /sessions`
  func sessions() throws -> Response {
    .json(
      SessionList(
        sessions: try store.sessions(of: caller).map { SessionInfo($0, isCurrent: $0.id == caller.id) }))
  }

  /// `DELETE /sessions/{id}`: one of the caller's own. One that is over already stays so.
  func end() throws -> Response {
    let id = request.path[1]
    let own = try store.tokens().first { token in
      token.id == id && token.kind == .session && token.revokedAt == nil && token.isSamePerson(as: caller)
    }
    guard let own else {
      throw Problem(
        .notFound, "unknown-session", "you have no session of that id; GET /api/v1/sessions lists yours")
    }
    try store.endSession(own, by: actor)
    return .json(SessionInfo(own, isCurrent: own.id == caller.id))
  }

  /// - Throws: 403 for tokens and jobs: a command line gets the rights of the person who allows it, until they have to sign in again.
  ///   Also for command lines that a person allowed: no program that has such a session can make others of it, which would be left
  ///   when that one is ended.
  private func checkPerson() throws(Problem) {
    guard caller.kind == .session, caller.sourceToken == nil else {
      throw Problem(
        .forbidden, "no-session",
        "only someone who signed in with the provider can allow a sign-in; \"\(caller.name)\" is a token")
    }
    guard let detail = caller.identity?.detail,
      SessionClient.parts(of: detail).client == SessionClient.console
    else {
      throw Problem(
        .forbidden, "no-session",
        "a sign-in is allowed in the console, by the person; this is the session of a command line")
    }
  }

  private func userCode() throws(Problem) -> String {
    guard let code = UserCode.read(request.path[1]) else {
      throw .badRequest("a code has eight letters, such as BCDF-GHJK")
    }
    return code
  }

  /// Whoever is signed in may guess what others wait for, so that guesses are slowed down.
  private func unknown(_ code: String) throws(Problem) -> Problem {
    if let seconds = context.api.attempts.retryDelay(request.peer) {
      var problem = Problem(
        .tooManyRequests, "slow-down", "too many wrong codes from this address; try again in \(seconds) s")
      problem.retryAfter = seconds
      throw problem
    }
    context.api.attempts.noteFailure(request.peer)
    return Problem(
      .notFound, "unknown-signin",
      "no sign-in waits with the code \(code); it may be older than ten minutes, or decided on: begin another one"
    )
  }
}

extension PendingSignIns.Entry {
  /// Where the browser goes once it is decided (RFC 8252 §7.3, RFC 6749 §4.1.2); nil if the command line polls.
  fileprivate var redirect: String? {
    guard let loopback else { return nil }
    // The state has unreserved characters only, and the code hexadecimal digits.
    let base = "http://127.0.0.1:\(loopback.port)/?"
    switch decision {
    case .allowed(_, let code?): return base + "code=\(code)&state=\(loopback.state)"
    case .denied: return base + "error=access_denied&state=\(loopback.state)"
    case .allowed, nil: return nil
    }
  }
}

extension AccessToken {
  /// Whether both are sessions of one person.
  fileprivate func isSamePerson(as other: AccessToken) -> Bool {
    guard kind == .session, other.kind == .session, let identity, let another = other.identity else {
      return false
    }
    // As bytes: to Swift, two spellings of é are equal, to a provider two people.
    return UTF8Order.areEqual(identity.issuer, another.issuer)
      && UTF8Order.areEqual(identity.subject, another.subject)
  }
}

extension SessionInfo {
  fileprivate init(_ token: AccessToken, isCurrent: Bool) {
    let (client, browser) = SessionClient.parts(of: token.identity?.detail ?? SessionClient.console)
    self.init(
      id: token.id, client: client, browser: browser,
      createdAt: Moment(milliseconds: token.createdAt), expiresAt: token.expiresAt.map(Moment.init),
      lastUsedAt: token.lastUsedAt.map(Moment.init), isCurrent: isCurrent)
  }
}
