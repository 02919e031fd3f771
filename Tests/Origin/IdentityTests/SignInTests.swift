import HTTP
import HTTPClient
import System
import Testing
import Values

@testable import Identity

/// The calls of a sign-in.
@Suite struct SignInTests {
  private let fake = FakeProvider()
  private let secrets = SignInSecrets(state: "s-1", nonce: "n-1", verifier: String(repeating: "v", count: 43))
  private static let callback = "https://origin.acme.com/auth/callback"

  private func answer(_ token: String, _ others: [String: JSONValue] = [:]) {
    var members: [String: JSONValue] = [
      "id_token": .string(token), "access_token": "at-1", "token_type": "Bearer",
    ]
    for (name, value) in others { members[name] = value.isNull ? nil : value }
    fake.serve("/token", .object(members))
  }

  private func signIn(
    _ provider: IdentityProvider? = nil, issuer: String? = nil, needed: Set<String> = []
  ) throws -> Claims {
    try (provider ?? fake.provider()).signIn(
      code: "c/1", answerIssuer: issuer, redirectURI: Self.callback, secrets: secrets, needed: needed)
  }

  @Test func `the browser is sent with a challenge, a state and a nonce`() throws {
    let url = try fake.provider().authorizationURL(
      redirectURI: Self.callback, scopes: "openid email", secrets: secrets)
    #expect(
      url == "https://id.acme.com/authorize?response_type=code&client_id=console"
        + "&redirect_uri=https%3A%2F%2Forigin.acme.com%2Fauth%2Fcallback&scope=openid%20email&state=s-1&nonce=n-1"
        + "&code_challenge=\(secrets.challenge)&code_challenge_method=S256")
    #expect(!url.contains(secrets.verifier))
    let silent = try fake.provider().authorizationURL(
      redirectURI: Self.callback, scopes: "openid", secrets: secrets, prompt: "none")
    #expect(silent.hasSuffix("&prompt=none"))
  }

  @Test(arguments: [
    ("/authorize?tenant=a", "/authorize?tenant=a&response"), ("/authorize?", "/authorize?response"),
  ])
  func `the endpoint's own query stays`(path: String, start: String) throws {
    fake.serve(
      "/.well-known/openid-configuration",
      FakeProvider.metadata(["authorization_endpoint": .string(FakeProvider.base + path)]))
    let url = try fake.provider().authorizationURL(
      redirectURI: Self.callback, scopes: "openid", secrets: secrets)
    #expect(url.hasPrefix(FakeProvider.base + start))
  }

  @Test func `nobody signs in at an issuer of jobs`() throws {
    let provider = IdentityProvider(
      try IssuerURL(TestIssuer.name), transport: fake.transport, clock: fake.clock)
    #expect(throws: IdentityError.self) {
      try provider.authorizationURL(redirectURI: Self.callback, scopes: "openid", secrets: secrets)
    }
    #expect(throws: IdentityError.self) { try signIn(provider) }
  }

  @Test func `a code is redeemed once, with its verifier`() throws {
    answer(TestIssuer().token())
    #expect(try signIn().subject == "u-17")
    #expect(
      fake.form == [
        "grant_type": "authorization_code", "code": "c/1", "redirect_uri": Self.callback,
        "code_verifier": secrets.verifier, "client_id": "console",
      ])
    #expect(fake.count("/token") == 1 && fake.count("/userinfo") == 0)
    let request = fake.state.withLock { $0.requests.last { $0.method == "POST" } }
    #expect(request?.mayBeRepeated == false && request?.redirects == 0)
    #expect(request?.fields["Content-Type"] == "application/x-www-form-urlencoded")
  }

  @Test(
    arguments: [
      (JSONValue.null, "basic"), (["client_secret_basic", "client_secret_post"], "basic"),
      (["client_secret_post", "client_secret_basic"], "basic"), (["client_secret_post"], "post"),
      (["private_key_jwt"], "none"), ([], "none"),
    ] as [(JSONValue, String)])
  func `a secret is sent in the way that the provider takes`(methods: JSONValue, way: String) throws {
    fake.serve(
      "/.well-known/openid-configuration",
      FakeProvider.metadata(["token_endpoint_auth_methods_supported": methods]))
    answer(TestIssuer().token())
    let provider = try fake.provider(secret: "s: e+c%")
    guard way != "none" else {
      let error = #expect(throws: IdentityError.self) { try signIn(provider) }
      #expect(error?.code == "provider-answer" && fake.count("/token") == 0)
      return
    }
    #expect(try signIn(provider).subject == "u-17")
    let header = fake.state.withLock { $0.requests.last { $0.method == "POST" }?.fields["Authorization"] }
    if way == "basic" {
      #expect(header == "Basic " + Base64.encode(Array("console:s%3A%20e%2Bc%25".utf8)))
      #expect(fake.form["client_secret"] == nil)
    } else {
      #expect(header == nil)
      #expect(fake.form["client_secret"] == "s: e+c%" && fake.form["client_id"] == "console")
    }
  }

  @Test func `the issuer of the answer is compared`() throws {
    answer(TestIssuer().token())
    #expect(try signIn(issuer: TestIssuer.name).subject == "u-17")
    for issuer in ["https://evil.example", TestIssuer.name + "/", ""] {
      #expect(throws: IdentityError.answerIssuer) { try signIn(issuer: issuer) }
    }
    #expect(fake.count("/token") == 1)
    fake.serve(
      "/.well-known/openid-configuration",
      FakeProvider.metadata(["authorization_response_iss_parameter_supported": true]))
    #expect(throws: IdentityError.answerIssuer) { try signIn() }
    #expect(try signIn(issuer: TestIssuer.name).subject == "u-17")
  }

  @Test func `tokens of another sign-in, client, issuer or time are refused`() {
    for (claims, code) in [
      (["nonce": "n-2"], "nonce"), (["nonce": .null], "nonce"), (["aud": "other"], "wrong-audience"),
      (["azp": "other"], "wrong-client"), (["iss": "https://evil.example"], "issuer"),
      (["exp": .integer(TestIssuer.second - 61)], "expired"),
      (["nbf": .integer(TestIssuer.second + 300)], "not-yet"),
      (["iat": .integer(TestIssuer.second - 700)], "too-old"), (["sub": .null], "claim"),
    ] as [([String: JSONValue], String)] {
      answer(TestIssuer().token(claims))
      let error = #expect(throws: IdentityError.self) { try signIn() }
      #expect(error?.code == code)
    }
  }

  @Test func `what the provider refuses is told, without what was sent`() throws {
    for (error, description, told) in [
      ("invalid_grant", "the code was used", true), ("invalid_grant", "code c/1 was used", false),
      ("invalid_client", "the secret s3cret is wrong", false),
    ] {
      fake.serve(
        "/token", .object(["error": .string(error), "error_description": .string(description)]), status: 400)
      let thrown = #expect(throws: IdentityError.self) { try signIn(fake.provider(secret: "s3cret")) }
      #expect(thrown == .refused(error: error, description: told ? description : nil))
      #expect(thrown?.message.contains(error) == true)
    }
  }

  @Test func `answers without a token can't be used`() {
    for (reply, code) in [
      (HTTPReply(HTTPHead(200), body: Array("{}".utf8)), "provider-answer"),
      (HTTPReply(HTTPHead(200), body: Array(#"{"id_token":1}"#.utf8)), "provider-answer"),
      (HTTPReply(HTTPHead(200)), "provider-answer"), (HTTPReply(HTTPHead(400)), "provider-answer"),
      (HTTPReply(HTTPHead(307, [("Location", "https://evil.example")])), "provider-answer"),
      (HTTPReply(HTTPHead(500), body: Array(#"{"error":"server_error"}"#.utf8)), "provider-down"),
      (HTTPReply(HTTPHead(200), body: Array(#"{"id_token":"a.b.c"}"#.utf8)), "malformed-token"),
    ] {
      fake.serve("/token", reply)
      let error = #expect(throws: IdentityError.self) { try signIn() }
      #expect(error?.code == code)
    }
  }

  @Test func `userinfo adds what the token lacks, of the same subject`() throws {
    answer(TestIssuer().token(["groups": ["a"]]))
    fake.serve(
      "/userinfo",
      .object([
        "sub": "u-17", "groups": ["admins"], "email": "ana@acme.com", "email_verified": false, "aud": "x",
      ]))
    // Nothing is asked that the token has.
    #expect(try signIn(needed: ["groups", "sub"]).text(of: "email") == nil)
    #expect(fake.count("/userinfo") == 0)
    let claims = try signIn(needed: ["groups", "email"])
    #expect(claims.text(of: "email") == "ana@acme.com" && !claims.isEmailVerified)
    #expect(claims.values(of: "groups") == ["a"] && claims.json["aud"]?.string == "console")
    let request = fake.state.withLock { $0.requests.last }
    #expect(
      request?.url == FakeProvider.base + "/userinfo" && request?.fields["Authorization"] == "Bearer at-1")
  }

  @Test func `whether an address was verified is asked for with it`() throws {
    answer(TestIssuer().token(["email": "ana@acme.com"]))
    fake.serve("/userinfo", .object(["sub": "u-17", "email_verified": false]))
    #expect(try signIn(needed: ["email"]).isEmailVerified == false)
  }

  @Test func `userinfo that verified another address says nothing of the token's`() throws {
    answer(TestIssuer().token(["email": "boss@acme.com"]))
    fake.serve("/userinfo", .object(["sub": "u-17", "email": "eve@acme.com", "email_verified": true]))
    let claims = try signIn(needed: ["email"])
    #expect(claims.text(of: "email") == "boss@acme.com" && !claims.isEmailVerified)
    fake.serve("/userinfo", .object(["sub": "u-17", "email": "boss@acme.com", "email_verified": true]))
    answer(TestIssuer().token(["email": "boss@acme.com"]))
    #expect(try signIn(needed: ["email"]).isEmailVerified)
  }

  @Test func `userinfo of somebody else is refused`() {
    answer(TestIssuer().token())
    for json in [
      ["sub": "u-18", "email": "x@acme.com"], ["email": "x@acme.com"], ["sub": 17, "email": "x@acme.com"],
    ] as [[String: JSONValue]] {
      fake.serve("/userinfo", .object(json))
      #expect(throws: IdentityError.otherSubject) { try signIn(needed: ["email"]) }
    }
    fake.serve("/userinfo", HTTPReply(HTTPHead(200), body: Array("a.b.c".utf8)))
    let error = #expect(throws: IdentityError.self) { try signIn(needed: ["email"]) }
    #expect(error?.code == "provider-answer")
  }

  @Test(arguments: ["at\r\nX-Evil: 1", "", "at 1", "é"])
  func `an access token that doesn't fit into a field isn't sent`(token: String) {
    answer(TestIssuer().token(), ["access_token": .string(token)])
    #expect(throws: IdentityError.self) { try signIn(needed: ["email"]) }
    #expect(fake.count("/userinfo") == 0)
  }

  @Test func `without userinfo or a bearer token, the token's claims are all there is`() throws {
    answer(TestIssuer().token(), ["token_type": "DPoP"])
    #expect(try signIn(needed: ["email"]).text(of: "email") == nil)
    fake.serve("/.well-known/openid-configuration", FakeProvider.metadata(["userinfo_endpoint": .null]))
    answer(TestIssuer().token())
    #expect(try signIn(needed: ["email"]).text(of: "email") == nil)
  }

  @Test func `at most four calls are under way at once`() throws {
    let gate = Monitor(0)
    let inner = fake.transport
    let provider = IdentityProvider(
      try IssuerURL(TestIssuer.name), client: .init(id: "console", secret: nil),
      transport: IdentityTransport { (request, limit) throws(HTTPClientError) in
        if request.method == "POST" {
          gate.broadcasting { $0 += 1 }
          _ = gate.waiting(for: .seconds(20)) { $0 >= 100 ? true : nil }
        }
        return try inner.send(request, limit)
      }, clock: fake.clock)
    answer(TestIssuer().token())
    _ = try provider.authorizationURL(redirectURI: Self.callback, scopes: "openid", secrets: secrets)
    let threads = (0..<4).map { _ in
      ThreadTask("sign-in") { [secrets] in
        (try? provider.signIn(
          code: "c", answerIssuer: nil, redirectURI: Self.callback, secrets: secrets, needed: [])) != nil
      }
    }
    _ = gate.waiting { $0 == 4 ? true : nil }
    #expect(throws: IdentityError.busy) { try signIn(provider) }
    // A fifth that one of them makes room for in time isn't refused.
    let fifth = ThreadTask("sign-in") { [secrets] in
      (try? provider.signIn(
        code: "c", answerIssuer: nil, redirectURI: Self.callback, secrets: secrets, needed: [])) != nil
    }
    Clock.sleep(for: .milliseconds(50))
    gate.broadcasting { $0 = 100 }
    #expect(fifth.value())
    #expect(threads.map { $0.value() } == [true, true, true, true])
    #expect(try signIn(provider).subject == "u-17")
  }
}
