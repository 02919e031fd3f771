import Manifests
import OriginAPI
import Store
import Values

/// What a route requires of the caller's token. All of it is known from the head, so that no body is received from a client
/// that may not send it; limits that depend on the body, such as a token's bundles, are checked with it.
enum Requirement: Sendable {
  /// The scope, whatever the token is limited to.
  case scope(TokenScope)
  /// The scope, in the channel that the path names.
  case channel(TokenScope)
  /// The scope in that channel and all its bundles: the act concerns the whole channel.
  case wholeChannel(TokenScope)
  /// The scope in the app that the path names, whatever channels and bundles of it the token is limited to: it is told of, and
  /// changes, these only.
  case app(TokenScope)
  /// The scope in that app without such a limit.
  case wholeApp(TokenScope)
  /// An unrestricted admin token.
  case everything

  /// - Throws: 403, naming what the token may do; 400 if the path names no app or channel.
  func check(_ caller: AccessToken, _ request: APIRequest) throws(Problem) {
    switch self {
    case .scope(let scope):
      guard caller.scope >= scope else {
        throw Self.refusal(
          "token \"\(caller.name)\" has the scope \(caller.scope.rawValue); this needs \(scope.rawValue)")
      }
    case .channel(let scope):
      try caller.check(scope, in: ChannelNames(request))
    case .wholeChannel(let scope):
      try caller.check(scope, in: ChannelNames(request))
      try caller.checkReachesAllBundles()
    case .app(let scope): try caller.check(scope, inApp: request)
    case .wholeApp(let scope):
      try caller.check(scope, inApp: request)
      if let channel = caller.channel {
        throw Self.refusal(
          "token \"\(caller.name)\" is for channel \(channel), but this concerns all channels of the app")
      }
      try caller.checkReachesAllBundles()
    case .everything:
      guard caller.scope >= .admin, caller.isUnlimited else {
        throw Self.refusal("token \"\(caller.name)\" may not do this; it needs an unrestricted admin token")
      }
    }
  }

  fileprivate static func refusal(_ detail: String) -> Problem { Problem(.forbidden, "scope", detail) }
}

extension APIEndpoint {
  /// Authenticates and authorizes a request, and refuses preconditions.
  func authorize(_ request: APIRequest, _ requirement: Requirement) throws -> RequestContext {
    let caller = try caller(of: request)
    if request.isConditional, request.method != .get, request.method != .head {
      throw Problem.unknownCondition
    }
    try requirement.check(caller, request)
    if request.method != .get {
      _ = try HumanText.checked(
        request.text(RequestContext.reason), member: RequestContext.reason, .line(bytes: 1024))
    }
    return RequestContext(api: self, request: request, caller: caller)
  }

  private func caller(of request: APIRequest) throws -> AccessToken {
    guard let text = request.token else { throw Problem.noToken }
    // Valid tokens first: an office or a CI cluster shares one address, and a colleague's mistake must not lock it out.
    // Nobody guesses 256 random bits, however many attempts there are.
    if let token = try store.check(token: text) { return token }
    if let seconds = attempts.retryDelay(request.peer) {
      var problem = Problem(
        .tooManyRequests, "slow-down",
        "too many invalid tokens from this address; try again in \(seconds) s")
      problem.retryAfter = seconds
      throw problem
    }
    attempts.noteFailure(request.peer)
    throw Problem(
      .unauthorized, "token", "the token is unknown, expired or revoked; ask an admin for a new one")
  }
}

extension AccessToken {
  /// - Throws: 403, naming what the token may do; 400 if the path names no app.
  fileprivate func check(_ scope: TokenScope, inApp request: APIRequest) throws(Problem) {
    let app: AppName
    do throws(NameError) {
      app = try AppName(request.path[1])
    } catch {
      throw Problem(error)
    }
    guard self.scope >= scope else {
      throw Requirement.refusal(
        "token \"\(name)\" has the scope \(self.scope.rawValue); this takes \(scope.rawValue) in app \(app)")
    }
    if let own = self.app, own != app {
      throw Requirement.refusal("token \"\(name)\" is for app \(own) only, not for app \(app)")
    }
  }

  /// - Throws: 403, naming what the token may do.
  func check(_ scope: TokenScope, in names: ChannelNames) throws(Problem) {
    guard !allows(scope, app: names.app, channel: names.channel) else { return }
    let limits = [app.map { "app \($0)" }, channel.map { "channel \($0)" }].compactMap { $0 }
    guard self.scope < scope else {
      throw Problem(
        .forbidden, "scope",
        "token \"\(name)\" is for \(limits.joined(separator: ", ")) only, not for app \(names.app), channel \(names.channel)"
      )
    }
    let place = limits.isEmpty ? "" : " in " + limits.joined(separator: ", ")
    throw Problem(
      .forbidden, "scope",
      "token \"\(name)\" has the scope \(self.scope.rawValue)\(place); this takes \(scope.rawValue) in "
        + "app \(names.app), channel \(names.channel)")
  }

  /// - Throws: 403 if the token is limited to other bundles.
  func check(bundle: BundleName) throws(Problem) {
    guard !allows(bundle: bundle) else { return }
    throw Problem(
      .forbidden, "scope",
      "token \"\(name)\" is for bundles \(bundles?.text ?? ""), not for \"\(bundle)\"")
  }

  /// - Throws: 403 if the token is limited to bundles.
  func checkReachesAllBundles() throws(Problem) {
    guard let bundles else { return }
    throw Problem(
      .forbidden, "scope",
      "token \"\(name)\" is for bundles \(bundles), but this concerns the whole channel")
  }
}
