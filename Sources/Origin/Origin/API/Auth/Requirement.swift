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

  /// Checks it, and returns the caller as it acts here: of several grants, those that are for this act count as one.
  /// - Throws: 403, naming what the caller may do; 400 if the path names no app or channel.
  func check(_ caller: AccessToken, _ request: APIRequest) throws(Problem) -> AccessToken {
    switch self {
    case .scope(let scope):
      guard caller.grants.contains(where: { $0.scope >= scope }) else {
        throw Self.refusal("\(caller.may); this needs \(scope.rawValue)")
      }
      return caller
    case .channel(let scope):
      return try caller.acting(scope, in: ChannelNames(request))
    case .wholeChannel(let scope):
      let acting = try caller.acting(scope, in: ChannelNames(request))
      try acting.checkReachesAllBundles()
      return acting
    case .app(let scope): return try caller.acting(scope, inApp: request)
    case .wholeApp(let scope):
      let acting = try caller.acting(scope, inApp: request)
      if let channel = acting.channel {
        throw Self.refusal(
          "\(caller.who) \(caller.isWord) for channel \(channel), but this concerns all channels of the app")
      }
      try acting.checkReachesAllBundles()
      return acting
    case .everything:
      guard caller.isUnrestrictedAdmin else {
        throw Self.refusal(
          caller.kind == .session
            ? "\(caller.who) may not do this; it takes the role admin for everything, or an unrestricted admin token"
            : "\(caller.who) may not do this; it needs an unrestricted admin token")
      }
      return caller
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
    let acting = try requirement.check(caller, request)
    if request.method != .get {
      _ = try HumanText.checked(
        request.text(RequestContext.reason), member: RequestContext.reason, .line(bytes: 1024))
    }
    return RequestContext(api: self, request: request, caller: acting)
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
  /// The caller as it acts in the app that a path names.
  /// - Throws: 403, naming what the caller may do; 400 if the path names no app.
  fileprivate func acting(_ scope: TokenScope, inApp request: APIRequest) throws(Problem) -> AccessToken {
    let app: AppName
    do throws(NameError) {
      app = try AppName(request.path[1])
    } catch {
      throw Problem(error)
    }
    if let acting = acting(in: app, scope) { return acting }
    guard more.isEmpty, self.scope >= scope, let own = self.app else {
      throw Requirement.refusal("\(may); this takes \(scope.rawValue) in app \(app)")
    }
    throw Requirement.refusal("\(who) \(isWord) for app \(own) only, not for app \(app)")
  }

  /// The caller as it acts in a channel.
  /// - Throws: 403, naming what the caller may do.
  fileprivate func acting(_ scope: TokenScope, in names: ChannelNames) throws(Problem) -> AccessToken {
    guard let acting = acting(on: names.app, names.channel, scope) else { throw refusal(scope, in: names) }
    return acting
  }

  /// - Throws: 403, naming what the caller may do.
  func check(_ scope: TokenScope, in names: ChannelNames) throws(Problem) {
    guard allows(scope, app: names.app, channel: names.channel) else { throw refusal(scope, in: names) }
  }

  private func refusal(_ scope: TokenScope, in names: ChannelNames) -> Problem {
    let place = "app \(names.app), channel \(names.channel)"
    guard more.isEmpty, self.scope >= scope else {
      return Requirement.refusal("\(mayHere); this takes \(scope.rawValue) in \(place)")
    }
    let limits = [app.map { "app \($0)" }, channel.map { "channel \($0)" }].compactMap(\.self)
    return Requirement.refusal(
      "\(who) \(isWord) for \(limits.joined(separator: ", ")) only, not for \(place)")
  }

  /// - Throws: 403 if the caller is limited to other bundles.
  func check(bundle: BundleName) throws(Problem) {
    guard !allows(bundle: bundle) else { return }
    throw Requirement.refusal("\(who) \(isWord) for bundles \(bundles?.text ?? ""), not for \"\(bundle)\"")
  }

  /// - Throws: 403 if the caller is limited to bundles.
  func checkReachesAllBundles() throws(Problem) {
    guard let bundles else { return }
    throw Requirement.refusal(
      "\(who) \(isWord) for bundles \(bundles), but this concerns the whole channel")
  }

  /// Checks that a statement is for channels of the caller's: a floor that it leaves holds in each of them.
  /// - Parameters:
  ///   - channels: those that the statement is for.
  ///   - scope: what the caller needs there.
  ///   - app: the app.
  ///   - covers: whether a grant with this limit covers what the statement is about.
  /// - Throws: 403.
  func check(
    statementFor channels: [ChannelName], _ scope: TokenScope, in app: AppName,
    covers: (BundleGlob?) -> Bool = { _ in true }
  ) throws(Problem) {
    let own = grants.filter { $0.scope >= scope && ($0.app ?? app) == app && covers($0.bundles) }
    guard !own.isEmpty else {
      throw Requirement.refusal("\(may), and one of the statements is for other bundles")
    }
    for channel in channels where !own.contains(where: { ($0.channel ?? channel) == channel }) {
      guard let limit = self.channel, more.isEmpty else {
        throw Requirement.refusal("\(may), and one of the statements is for channel \(channel)")
      }
      throw Requirement.refusal(
        "\(who) \(isWord) for channel \(limit), and one of the statements is for channel \(channel)")
    }
  }
}
