import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// Tokens, for unrestricted admins.
struct TokenHandler: APIHandler {
  let context: RequestContext

  /// `GET /tokens`, with `kind`: all of one kind; without: all tokens, and the sessions and jobs that are in use.
  func list() throws -> Response {
    let all = try store.tokens()
    guard let text = request.text("kind") else {
      let now = store.now
      let shown = all.filter { token in
        token.kind == .token || (token.revokedAt == nil && token.expiresAt.map { $0 > now } ?? true)
      }
      return .json(TokenList(tokens: shown.map(TokenInfo.init)))
    }
    guard let kind = AccessToken.Kind(rawValue: text) else {
      throw Problem.badRequest("kind=\(text) is none of token, session and job")
    }
    return .json(TokenList(tokens: all.filter { $0.kind == kind }.map(TokenInfo.init)))
  }

  /// `POST /tokens`
  func create(_ body: TokenRequest) throws -> Response {
    guard let name = try HumanText.checked(body.name, member: "name", .line(bytes: 128)), !name.isEmpty else {
      throw Problem.badRequest("\"name\" must say whose token this is, in 1 to 128 bytes")
    }
    guard let scope = body.scope.flatMap(TokenScope.init) else {
      throw Problem.badRequest("\"scope\" must be one of read, release, publish and admin")
    }
    let app = try body.app.map { try AppName($0) }
    let channel = try body.channel.map { try ChannelName($0) }
    if app == nil, channel != nil { throw Problem.badRequest("a token for a channel must also name its app") }
    let (bundles, hosts, expiresAt) = (try bundles(body, scope), try hosts(body, scope), try end(body))
    if let hash = try hash(body) {
      return try context.answering {
        APIAnswer(TokenAnswer(id: $0.id), .created)
      } to: { (record) in
        try store.createToken(
          name: name, hash: hash, scope: scope, app: app, channel: channel, bundles: bundles,
          hosts: hosts, expiresAt: expiresAt, by: actor, record: record)
      }
    }
    // For clients that don't make the secret themselves. The answer can't be kept, so a retry is told what to do.
    let record = context.key.map { AnswerRecord<AccessToken>($0) { StoredAnswer(Self.lost($0)) } }
    let made = try store.createToken(
      name: name, scope: scope, app: app, channel: channel, bundles: bundles, hosts: hosts,
      expiresAt: expiresAt, by: actor, record: record)
    return .json(TokenAnswer(id: made.token.id, token: made.text), .created)
  }

  /// Returns the SHA-256 of a secret made by the client; nil if the origin is to make one.
  private func hash(_ body: TokenRequest) throws -> SHA256? {
    guard let text = body.secretHash else { return nil }
    guard let hash = SHA256(hex: text) else {
      throw Problem.badRequest(
        "\"secretHash\" must be the sha256 of the secret's 32 random bytes: 64 lower-case hexadecimal digits")
    }
    return hash
  }

  private static func lost(_ token: AccessToken) -> Problem {
    Problem(
      .conflict, "secret-lost",
      "token \"\(token.name)\" was created, but the answer with its text was lost, and it is shown only once; revoke it with "
        + "`xcache token revoke \(token.id)` and create another one",
      [.init(key: "id", value: .string(token.id))])
  }

  /// Returns the bundles that the token is limited to.
  private func bundles(_ body: TokenRequest, _ scope: TokenScope) throws -> BundleGlob? {
    guard let text = body.bundles else { return nil }
    guard let glob = BundleGlob(text) else {
      throw Problem.badRequest(
        "\"bundles\" must be bundles' names, with * and ? as wildcards, separated by commas")
    }
    guard scope < .admin else { throw Problem.badRequest("admin tokens can't be limited to bundles") }
    return glob
  }

  /// Returns the hosts whose URLs the token may publish.
  private func hosts(_ body: TokenRequest, _ scope: TokenScope) throws -> HostList? {
    guard let names = body.hosts, let hosts = try HostList.checked(names) else { return nil }
    // An admin could create an unlimited token, or lift a channel's limits.
    guard scope < .admin else { throw Problem.badRequest("admin tokens can't be limited to hosts") }
    return hosts
  }

  /// Returns when the token expires, in milliseconds since 1970.
  private func end(_ body: TokenRequest) throws -> Int64? {
    guard let seconds = body.expiresIn else { return nil }
    guard (1...Self.maxLifetime).contains(seconds) else {
      throw Problem.badRequest("\"expiresIn\" must be seconds from now, ten years at most")
    }
    return store.now + seconds * 1000
  }

  private static let maxLifetime: Int64 = 10 * 366 * 86_400

  /// `DELETE /tokens/{id or name}`
  func revoke() throws -> Response {
    let idOrName = request.path[1]
    if idOrName == caller.id || idOrName == caller.name || idOrName == caller.sourceToken {
      throw Problem(.conflict, "own-token", "a token can't revoke itself; use another admin token")
    }
    return try context.answering {
      APIAnswer(TokenInfo($0))
    } to: { (record) in
      try store.revokeToken(idOrName, by: actor, record: record)
    }
  }
}

extension TokenInfo {
  init(_ token: AccessToken) {
    self.init(
      id: token.id, name: token.name, scope: token.scope.rawValue, app: token.app, channel: token.channel,
      bundles: token.bundles?.text, hosts: token.hosts?.names,
      createdAt: Moment(milliseconds: token.createdAt),
      expiresAt: token.expiresAt.map(Moment.init), lastUsedAt: token.lastUsedAt.map(Moment.init),
      revokedAt: token.revokedAt.map(Moment.init), kind: token.kind.rawValue, issuer: token.identity?.issuer,
      subject: token.identity?.subject, detail: token.identity?.detail,
      grants: token.grants.map(GrantInfo.init))
  }
}

extension GrantInfo {
  init(_ grant: Grant) {
    self.init(
      scope: grant.scope.rawValue, app: grant.app, channel: grant.channel, bundles: grant.bundles?.text)
  }
}
