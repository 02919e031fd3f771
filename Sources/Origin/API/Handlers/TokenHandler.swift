import HTTP
import Manifests
import OriginAPI
import Store
import System

/// Tokens, for admins of everything.
struct TokenHandler: APIHandler {
  let context: RequestContext

  func list() throws -> Response {
    let tokens = try store.tokens()
    return .json(["tokens": .array(tokens.map(\.json))])
  }

  func create(_ document: JSONValue) throws -> Response {
    guard let name = try document.humanText("name", .line(bytes: 128)), !name.isEmpty else {
      throw Problem.badRequest("\"name\" is a text of 1 to 128 bytes that says whose token this is")
    }
    guard let scope = document["scope"]?.string.flatMap(TokenScope.init) else {
      throw Problem.badRequest("\"scope\" is one of read, publish and admin")
    }
    let app = try document.name("app") { (text) throws(NameError) in try AppName(text) }
    let channel = try document.name("channel") { (text) throws(NameError) in try ChannelName(text) }
    if app == nil, channel != nil { throw Problem.badRequest("a token for a channel names its app, too") }
    let (bundles, expiresAt) = try limits(document, scope)
    if let hash = try hash(document) {
      return try context.answering {
        APIAnswer(["id": .string($0.id)], .created)
      } to: { (record) in
        try store.createToken(
          name: name, hash: hash, scope: scope, app: app, channel: channel, bundles: bundles,
          expiresAt: expiresAt, by: actor, record: record)
      }
    }
    // Of a client that doesn't make the secret itself. Its answer can't be kept, so a retry is told what to do.
    let record = context.key.map { AnswerRecord<AccessToken>($0) { KeptAnswer(Self.lost($0)) } }
    let made = try store.createToken(
      name: name, scope: scope, app: app, channel: channel, bundles: bundles, expiresAt: expiresAt,
      by: actor, record: record)
    return .json(["id": .string(made.token.id), "token": .string(made.text)], .created)
  }

  /// sha256 of the secret that the client made; nil where the origin is to make one.
  private func hash(_ document: JSONValue) throws -> SHA256? {
    guard let value = document["secretHash"], !value.isNull else { return nil }
    guard let hash = value.string.flatMap({ SHA256(hex: $0) }) else {
      throw Problem.badRequest(
        "\"secretHash\" is the sha256 of the secret's 32 random bytes: 64 lower-case hexadecimal digits")
    }
    return hash
  }

  private static func lost(_ token: AccessToken) -> Problem {
    Problem(
      .conflict, "secret-lost",
      "token \"\(token.name)\" was made, but its text was in an answer that was lost and is told once; revoke it with "
        + "`xcache token revoke \(token.id)` and make another one",
      [.init(key: "id", value: .string(token.id))])
  }

  /// The bundles that it is limited to, and when it ends.
  private func limits(_ document: JSONValue, _ scope: TokenScope) throws -> (BundleGlob?, Int64?) {
    var bundles: BundleGlob?
    if let value = document["bundles"], !value.isNull {
      guard let glob = value.string.flatMap({ BundleGlob($0) }) else {
        throw Problem.badRequest("\"bundles\" is a bundle's name, with * and ? as wildcards")
      }
      guard scope < .admin else { throw Problem.badRequest("an admin is not limited to bundles") }
      bundles = glob
    }
    guard let value = document["expiresIn"], !value.isNull else { return (bundles, nil) }
    guard let seconds = value.integer, (1...Self.longestLife).contains(seconds) else {
      throw Problem.badRequest("\"expiresIn\" is seconds from now, ten years at most")
    }
    return (bundles, Clock.unixMilliseconds() + seconds * 1000)
  }

  private static let longestLife: Int64 = 10 * 366 * 86_400

  func revoke() throws -> Response {
    let idOrName = request.path[1]
    if idOrName == caller.id || idOrName == caller.name {
      throw Problem(.conflict, "own-token", "a token can't revoke itself; use another admin token")
    }
    return try context.answering {
      APIAnswer($0.json)
    } to: { (record) in
      try store.revokeToken(idOrName, by: actor, record: record)
    }
  }
}

extension AccessToken {
  fileprivate var json: JSONValue {
    func time(_ milliseconds: Int64?) -> JSONValue {
      milliseconds.map { .string(Timestamp.text($0)) } ?? .null
    }
    return [
      "app": app.map { .string($0.text) } ?? .null, "channel": channel.map { .string($0.text) } ?? .null,
      "bundles": bundles.map { .string($0.text) } ?? .null, "createdAt": time(createdAt),
      "expiresAt": time(expiresAt), "id": .string(id), "lastUsedAt": time(lastUsedAt), "name": .string(name),
      "revokedAt": time(revokedAt), "scope": .string(scope.rawValue),
    ]
  }
}
