import HTTP
import HTTPClient
import Identity
import Origin
import System
import Values

/// An OpenID Connect provider without a socket: it signs with Ed25519 what the test wants.
final class TestProvider: Sendable {
  static let issuer = "https://id.acme.com"
  static let client = "xcache"
  static let console = "https://xcache.example.com"

  struct State {
    /// The claims of whoever signs in next, besides those that every token has.
    var claims: JSONValue = ["email": "ana@acme.com", "groups": ["mobile-team"], "sub": "ana"]
    /// Replaces or removes claims of the token.
    var changes: JSONValue = [:]
    var isDown = false
    /// The nonces of the codes that weren't redeemed.
    fileprivate var nonces: [String: String] = [:]
    /// The bodies of requests for tokens.
    var redeemed: [String] = []
    /// All URLs that were asked for.
    var asked: [String] = []
  }

  let state = Locked(State())
  private let key = SigningKey()
  private let clock: @Sendable () -> Int64

  init(clock: @escaping @Sendable () -> Int64 = Clock.unixMilliseconds) { self.clock = clock }

  var transport: IdentityTransport {
    IdentityTransport { (request, _) throws(HTTPClientError) in
      self.state.withLock { $0.asked.append(request.url) }
      guard !self.state.withLock({ $0.isDown }) else {
        throw .couldNotConnect(host: "id.acme.com", port: 443)
      }
      return self.answer(request)
    }
  }

  func provider() throws -> IdentityProvider {
    IdentityProvider(
      try IssuerURL(Self.issuer), client: .init(id: Self.client, secret: "hush"), transport: transport,
      clock: clock)
  }

  private func answer(_ request: HTTPRequest) -> HTTPReply {
    switch request.url {
    case Self.issuer + "/.well-known/openid-configuration":
      Self.reply([
        "authorization_endpoint": "https://id.acme.com/authorize", "issuer": .string(Self.issuer),
        "jwks_uri": "https://id.acme.com/keys", "response_types_supported": ["code"],
        "subject_types_supported": ["public"], "token_endpoint": "https://id.acme.com/token",
        "id_token_signing_alg_values_supported": ["EdDSA"],
        "code_challenge_methods_supported": ["S256"],
      ])
    case "https://id.acme.com/keys":
      Self.reply([
        "keys": [
          [
            "alg": "EdDSA", "crv": "Ed25519", "kid": "1", "kty": "OKP", "use": "sig",
            "x": .string(Base64URL.encode(key.publicKey)),
          ]
        ]
      ])
    case "https://id.acme.com/token": redeem(request)
    default: HTTPReply(HTTPHead(404), body: [])
    }
  }

  private func redeem(_ request: HTTPRequest) -> HTTPReply {
    guard case .bytes(let bytes) = request.body else { return HTTPReply(HTTPHead(400), body: []) }
    let form = String(decoding: bytes, as: UTF8.self)
    let code = form.split(separator: "&").first { $0.hasPrefix("code=") }.map { String($0.dropFirst(5)) }
    let (nonce, claims): (String?, JSONValue) = state.withLock { state in
      state.redeemed.append(form)
      return (code.flatMap { state.nonces.removeValue(forKey: $0) }, state.claims)
    }
    guard let nonce else { return Self.reply(["error": "invalid_grant"], 400) }
    var object = claims.object ?? JSONObject()
    object["aud"] = .string(Self.client)
    object["nonce"] = .string(nonce)
    return Self.reply([
      "access_token": "a", "id_token": .string(idToken(.object(object))), "token_type": "Bearer",
    ])
  }

  /// A token of this issuer; claims that are null are left out.
  func idToken(_ claims: JSONValue, algorithm: String = "EdDSA") -> String {
    let seconds = clock() / 1000
    var object = JSONObject()
    object["iss"] = .string(Self.issuer)
    object["iat"] = .integer(seconds)
    object["exp"] = .integer(seconds + 300)
    for changes in [claims, state.withLock({ $0.changes })] {
      for member in changes.object?.members ?? [] {
        object[member.key] = member.value == .null ? nil : member.value
      }
    }
    let header: JSONValue = ["alg": .string(algorithm), "kid": "1", "typ": "JWT"]
    let signed =
      Base64URL.encode(header.canonical) + "." + Base64URL.encode(JSONValue.object(object).canonical)
    let signature = algorithm == "none" ? [] : key.sign(Array(signed.utf8))
    return signed + "." + Base64URL.encode(signature)
  }

  /// What the provider does once the person has signed in: it takes note of the nonce, and sends the browser back.
  /// - Returns: the target of the callback.
  func authorize(_ location: String, code: String = "c0de", more: String = "") -> String {
    let query = Self.query(location)
    state.withLock { $0.nonces[code] = query["nonce"] ?? "" }
    return "/auth/callback?code=\(code)&state=\(query["state"] ?? "")\(more)"
  }

  static func query(_ url: String) -> [String: String] {
    let text = url.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
    let pairs = text.split(separator: "&").map { pair in
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      return (parts[0], parts.count > 1 ? parts[1] : "")
    }
    return Dictionary(pairs) { first, _ in first }
  }

  private static func reply(_ json: JSONValue, _ status: Int = 200) -> HTTPReply {
    HTTPReply(HTTPHead(status, [("Content-Type", "application/json")]), body: json.canonical)
  }
}

/// A browser: its cookies.
struct TestBrowser {
  var cookies: [String: String] = [:]

  var cookie: String {
    "Cookie: " + cookies.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
  }

  /// Asks as a person who follows a link does.
  mutating func open(_ target: String, _ origin: TestOrigin) throws -> TestOrigin.Reply {
    let reply = try origin.ask("GET", target, cookies.isEmpty ? [] : [cookie])
    take(reply)
    return reply
  }

  /// Asks as the console's script does.
  func call(_ method: String, _ path: String, _ body: JSONValue? = nil, _ origin: TestOrigin) throws
    -> TestOrigin.Reply
  {
    try origin.ask(
      method, path.hasPrefix("/") ? path : "/api/v1/\(path)",
      [cookie, "Xcache-Console: 1", "Sec-Fetch-Site: same-origin"], body: body?.canonical)
  }

  private mutating func take(_ reply: TestOrigin.Reply) {
    guard let field = reply.field("Set-Cookie"), let pair = field.split(separator: ";").first else { return }
    let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    cookies[parts[0]] = field.contains("Max-Age=0") ? nil : parts[1]
  }
}

extension TestOrigin {
  /// An origin with a provider where the mobile team may release in the app shop, and Ana is an admin.
  static func signingIn(
    _ provider: TestProvider, roles: [String] = ["release=groups:mobile-team@shop"],
    _ change: (inout Origin.Options) -> Void = { _ in }, clock: (@Sendable () -> Int64)? = nil
  ) throws -> TestOrigin {
    let rules = try roles.map { try RoleRule($0) }
    let signIn = SignInOptions(
      provider: try provider.provider(), roles: rules, origin: TestProvider.console)
    return try TestOrigin(
      { options in
        options.signIn = signIn
        options.issuers = IdentityProviders(
          transport: provider.transport, clock: clock ?? Clock.unixMilliseconds)
        change(&options)
      }, clock: clock)
  }

  /// Signs a person in, and returns their browser.
  func signedIn(_ provider: TestProvider, code: String = "c0de") throws -> TestBrowser {
    var browser = TestBrowser()
    let login = try browser.open("/auth/login", self)
    _ = try browser.open(provider.authorize(login.field("Location") ?? "", code: code), self)
    return browser
  }
}
