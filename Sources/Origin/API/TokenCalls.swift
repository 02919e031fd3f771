import HTTP
import Manifests
import Store
import System

/// Tokens, for admins of everything.
struct TokenCalls {
  let store: Store
  let caller: AccessToken
  let call: APIRequest

  func list() throws(Problem) -> Response {
    let tokens = try APIEndpoint.store { () throws(StoreError) in try store.tokens() }
    return APIEndpoint.document(["tokens": .array(tokens.map(\.json))])
  }

  func create(_ document: JSONValue) throws(Problem) -> Response {
    guard let name = try document.humanText("name", .line(bytes: 128)), !name.isEmpty else {
      throw .badRequest("\"name\" is a text of 1 to 128 bytes that says whose token this is")
    }
    guard let scope = document["scope"]?.string.flatMap(TokenScope.init) else {
      throw .badRequest("\"scope\" is one of read, publish and admin")
    }
    let app = try document.name("app") { (text) throws(NameError) in try AppName(text) }
    let channel = try document.name("channel") { (text) throws(NameError) in try ChannelName(text) }
    if app == nil, channel != nil { throw .badRequest("a token for a channel names its app, too") }
    let (bundles, expiresAt) = try limits(document, scope)
    if let hash = try hash(document) {
      return try call.answering {
        APIAnswer(["id": .string($0.id)], .created)
      } to: { (record) throws(StoreError) in
        try store.createToken(
          name: name, hash: hash, scope: scope, app: app, channel: channel, bundles: bundles,
          expiresAt: expiresAt, by: caller.actor(call), record: record)
      }
    }
    // Of a client that doesn't make the secret itself. Its answer can't be kept, so a retry is told what to do.
    let record = call.key.map { AnswerRecord<AccessToken>($0) { KeptAnswer(Self.lost($0)) } }
    let made = try APIEndpoint.store { () throws(StoreError) in
      try store.createToken(
        name: name, scope: scope, app: app, channel: channel, bundles: bundles, expiresAt: expiresAt,
        by: caller.actor(call), record: record)
    }
    return APIEndpoint.document(["id": .string(made.token.id), "token": .string(made.text)], .created)
  }

  /// sha256 of the secret that the client made; nil where the origin is to make one.
  private func hash(_ document: JSONValue) throws(Problem) -> SHA256? {
    guard let value = document["secretHash"], !value.isNull else { return nil }
    guard let hash = value.string.flatMap({ SHA256(hex: $0) }) else {
      throw .badRequest(
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
  private func limits(_ document: JSONValue, _ scope: TokenScope) throws(Problem) -> (BundleGlob?, Int64?) {
    var bundles: BundleGlob?
    if let value = document["bundles"], !value.isNull {
      guard let glob = value.string.flatMap({ BundleGlob($0) }) else {
        throw .badRequest("\"bundles\" is a bundle's name, with * and ? as wildcards")
      }
      guard scope < .admin else { throw .badRequest("an admin is not limited to bundles") }
      bundles = glob
    }
    guard let value = document["expiresIn"], !value.isNull else { return (bundles, nil) }
    guard let seconds = value.integer, (1...Self.longestLife).contains(seconds) else {
      throw .badRequest("\"expiresIn\" is seconds from now, ten years at most")
    }
    return (bundles, Clock.unixMilliseconds() + seconds * 1000)
  }

  private static let longestLife: Int64 = 10 * 366 * 86_400

  func revoke(_ idOrName: String) throws(Problem) -> Response {
    if idOrName == caller.id || idOrName == caller.name {
      throw Problem(.conflict, "own-token", "a token can't revoke itself; use another admin token")
    }
    return try call.answering {
      APIAnswer($0.json)
    } to: { (record) throws(StoreError) in
      try store.revokeToken(idOrName, by: caller.actor(call), record: record)
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

extension JSONValue {
  /// A member that is a name; nil where it is absent or null.
  func name<Name>(_ key: String, _ parse: (String) throws(NameError) -> Name) throws(Problem) -> Name? {
    guard let value = self[key], !value.isNull else { return nil }
    guard let text = value.string else { throw .badRequest("\"\(key)\" is a name") }
    do {
      return try parse(text)
    } catch {
      throw .badRequest(error.description)
    }
  }
}

extension AccessToken {
  /// - Throws: 403 where it is limited to bundles and this is not about one of them.
  func check(bundle: BundleName) throws(Problem) {
    guard !allows(bundle: bundle) else { return }
    throw Problem(
      .forbidden, "scope",
      "token \"\(name)\" is for bundles \(bundles?.text ?? "") alone, not for \"\(bundle)\"")
  }

  /// - Throws: 403 where it is limited to bundles.
  func checkReachesAllBundles() throws(Problem) {
    guard let bundles else { return }
    throw Problem(
      .forbidden, "scope",
      "token \"\(name)\" is for bundles \(bundles) alone; this is about the whole channel")
  }
}
