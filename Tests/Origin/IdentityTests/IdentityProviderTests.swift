import HTTP
import HTTPClient
import SocketServer
import System
import Testing
import Values

@testable import Identity

/// What a provider publishes: when it is fetched, and what isn't believed.
@Suite struct IdentityProviderTests {
  private let fake = FakeProvider()
  private static let discovery = "/.well-known/openid-configuration"

  private func token(_ issuer: TestIssuer = TestIssuer()) throws -> JSONWebToken {
    let second = fake.clock() / 1000
    return try JSONWebToken(issuer.token(["iat": .integer(second), "exp": .integer(second + 300)]))
  }

  @Test func `keys are fetched once an hour`() throws {
    let provider = try fake.provider()
    for _ in 0..<5 { #expect(try provider.verify(token(), by: TestIssuer.rules()).subject == "u-17") }
    #expect(fake.count(Self.discovery) == 1 && fake.count("/keys") == 1)
    fake.advance(milliseconds: 3_599_999)
    _ = try provider.verify(token(), by: TestIssuer.rules())
    #expect(fake.count("/keys") == 1)
    fake.advance(milliseconds: 1)
    _ = try provider.verify(token(), by: TestIssuer.rules())
    #expect(fake.count(Self.discovery) == 2 && fake.count("/keys") == 2)
  }

  @Test func `a new key is found, at most one fetch in 30 s`() throws {
    let provider = try fake.provider()
    _ = try provider.verify(token(), by: TestIssuer.rules())
    let new = TestIssuer(key: .ed25519Key, keyID: "k2")
    fake.serve("/keys", .object(["keys": .array([new.key.jwk("k2")])]))
    #expect(throws: IdentityError.unknownKey("k2")) {
      try provider.verify(token(new), by: TestIssuer.rules())
    }
    fake.advance(milliseconds: 29_999)
    #expect(throws: IdentityError.unknownKey("k2")) {
      try provider.verify(token(new), by: TestIssuer.rules())
    }
    #expect(fake.count("/keys") == 1)
    fake.advance(milliseconds: 1)
    #expect(try provider.verify(token(new), by: TestIssuer.rules()).subject == "u-17")
    #expect(fake.count("/keys") == 2)
    // The old one was taken back with it; the next look for it waits for its time.
    for _ in 0..<10 {
      #expect(throws: IdentityError.unknownKey("k1")) { try provider.verify(token(), by: TestIssuer.rules()) }
    }
    #expect(fake.count("/keys") == 2)
  }

  @Test func `a key that was replaced under its kid is found`() throws {
    let provider = try fake.provider()
    _ = try provider.verify(token(), by: TestIssuer.rules())
    let new = TestIssuer(key: .p256(P256PrivateKey()))
    fake.serve("/keys", .object(["keys": .array([new.key.jwk("k1")])]))
    fake.advance(milliseconds: 30_000)
    #expect(try provider.verify(token(new), by: TestIssuer.rules()).subject == "u-17")
    #expect(throws: IdentityError.signature) { try provider.verify(token(), by: TestIssuer.rules()) }
  }

  @Test func `whoever sends wrong tokens makes it ask no more often`() throws {
    let provider = try fake.provider()
    let stranger = TestIssuer(key: .p256(P256PrivateKey()))
    for round in 0..<60 {
      let name = round % 2 == 0 ? "k1" : "x\(round)"
      var wrong = stranger
      wrong.keyID = name
      #expect(throws: IdentityError.self) { try provider.verify(token(wrong), by: TestIssuer.rules()) }
      fake.advance(milliseconds: 1000)
    }
    #expect((2...3).contains(fake.count("/keys")))
  }

  @Test func `keys serve for a day while the provider is down`() throws {
    let provider = try fake.provider()
    _ = try provider.verify(token(), by: TestIssuer.rules())
    fake.isDown = true
    fake.advance(milliseconds: 3_600_000)
    for _ in 0..<3 { #expect(try provider.verify(token(), by: TestIssuer.rules()).subject == "u-17") }
    #expect(fake.count(Self.discovery) == 2)
    fake.advance(milliseconds: 24 * 3_600_000 - 3_600_000 - 1)
    #expect(try provider.verify(token(), by: TestIssuer.rules()).subject == "u-17")
    // What can't be known is said so, but a signature stays wrong.
    fake.advance(milliseconds: -1_000_000)
    let unknown = #expect(throws: IdentityError.self) {
      try provider.verify(token(TestIssuer(keyID: "k2")), by: TestIssuer.rules())
    }
    #expect(unknown?.code == "provider-down")
    #expect(throws: IdentityError.signature) {
      try provider.verify(token(TestIssuer(key: .p256(P256PrivateKey()))), by: TestIssuer.rules())
    }
    fake.advance(milliseconds: 1_000_001)
    let error = #expect(throws: IdentityError.self) { try provider.verify(token(), by: TestIssuer.rules()) }
    #expect(error?.code == "provider-down" && error?.isOfProvider == true)
    fake.isDown = false
    fake.advance(milliseconds: 30_000)
    #expect(try provider.verify(token(), by: TestIssuer.rules()).subject == "u-17")
  }

  @Test func `a provider that was down at the start is asked again after 5 s`() throws {
    let provider = try fake.provider()
    fake.isDown = true
    for _ in 0..<3 {
      let error = #expect(throws: IdentityError.self) { try provider.verify(token(), by: TestIssuer.rules()) }
      #expect(error?.code == "provider-down")
    }
    #expect(fake.count(Self.discovery) == 1)
    fake.isDown = false
    fake.advance(milliseconds: 5000)
    #expect(try provider.verify(token(), by: TestIssuer.rules()).subject == "u-17")
  }

  @Test func `a clock that is set back leads to a new look`() throws {
    let provider = try fake.provider()
    _ = try provider.verify(token(), by: TestIssuer.rules())
    fake.advance(milliseconds: -100_000_000)
    _ = try provider.verify(token(), by: TestIssuer.rules())
    #expect(fake.count("/keys") == 2)
  }

  @Test func `rules of another issuer are refused`() throws {
    var rules = try TestIssuer.rules()
    rules.issuer = try IssuerURL("https://other.example")
    #expect(throws: IdentityError.issuer(expected: TestIssuer.name, actual: "https://other.example")) {
      try fake.provider().verify(token(), by: rules)
    }
    #expect(fake.count(Self.discovery) == 0)
  }

  @Test(
    arguments: [
      ["issuer": "https://id.acme.com/"], ["issuer": "https://evil.example"], ["issuer": .null],
      ["issuer": 1],
      ["jwks_uri": "http://id.acme.com/keys"], ["jwks_uri": "http://127.0.0.1/keys"], ["jwks_uri": .null],
      ["jwks_uri": "file:///etc/passwd"], ["jwks_uri": "/keys"],
      ["jwks_uri": "https://user:pw@id.acme.com/keys"],
      ["jwks_uri": "https://id.acme.com/keys#x"], ["jwks_uri": ["https://id.acme.com/keys"]],
      ["jwks_uri": ""],
      ["token_endpoint": "http://id.acme.com/token"], ["authorization_endpoint": "javascript:alert(1)"],
      ["userinfo_endpoint": "http://localhost/userinfo"],
    ] as [[String: JSONValue]])
  func `a description that isn't to be believed is refused`(change: [String: JSONValue]) throws {
    fake.serve(Self.discovery, FakeProvider.metadata(change))
    let error = #expect(throws: IdentityError.self) {
      try fake.provider().verify(token(), by: TestIssuer.rules())
    }
    #expect(error?.code == "provider-answer")
    #expect(fake.count("/keys") == 0)
  }

  @Test(arguments: [
    (HTTPReply(HTTPHead(302, [("Location", "https://evil.example")])), "provider-answer"),
    (HTTPReply(HTTPHead(404)), "provider-answer"), (HTTPReply(HTTPHead(204)), "provider-answer"),
    (HTTPReply(HTTPHead(503)), "provider-down"), (HTTPReply(HTTPHead(429)), "provider-down"),
    (HTTPReply(HTTPHead(200), body: Array("<html>".utf8)), "provider-answer"),
    (HTTPReply(HTTPHead(200), body: Array("{\"a\":1,\"a\":2}".utf8)), "provider-answer"),
    (HTTPReply(HTTPHead(200), body: [UInt8](repeating: 0x20, count: 1_048_577)), "provider-answer"),
  ])
  func `answers that can't be used say why`(reply: HTTPReply, code: String) throws {
    for path in [Self.discovery, "/keys"] {
      let fake = FakeProvider()
      fake.serve(path, reply)
      let error = #expect(throws: IdentityError.self) {
        try fake.provider().verify(token(), by: TestIssuer.rules())
      }
      #expect(error?.code == code)
      #expect(error?.message.contains("id.acme.com") == true)
    }
  }

  @Test func `many threads lead to one fetch`() throws {
    let inner = fake.transport
    // Slow enough for all of them to come before it ends.
    let provider = IdentityProvider(
      try IssuerURL(TestIssuer.name),
      transport: IdentityTransport { (request, limit) throws(HTTPClientError) in
        Clock.sleep(for: .milliseconds(100))
        return try inner.send(request, limit)
      }, clock: fake.clock)
    let token = try token()
    let rules = try TestIssuer.rules()
    // As many as may wait for it.
    let threads = (0..<8).map { _ in
      ThreadTask("verify") { (try? provider.verify(token, by: rules)) != nil }
    }
    #expect(threads.map { $0.value() } == Array(repeating: true, count: 8))
    #expect(fake.count("/keys") == 1)
  }

  // MARK: - URLs of issuers

  @Test(arguments: [
    ("https://id.acme.com", "https://id.acme.com/.well-known/openid-configuration"),
    ("https://id.acme.com/", "https://id.acme.com/.well-known/openid-configuration"),
    ("https://id.acme.com/realms/a/", "https://id.acme.com/realms/a/.well-known/openid-configuration"),
    ("http://127.0.0.1:8080", "http://127.0.0.1:8080/.well-known/openid-configuration"),
    ("http://localhost/x", "http://localhost/x/.well-known/openid-configuration"),
    ("http://[::1]:9", "http://[::1]:9/.well-known/openid-configuration"),
  ])
  func `issuers are described below their URL`(text: String, discovery: String) throws {
    let issuer = try IssuerURL(text)
    #expect(issuer.text == text && issuer.discovery == discovery)
  }

  @Test(arguments: [
    "", "id.acme.com", "http://id.acme.com", "http://10.0.0.1", "http://localhost.evil.example",
    "ftp://id.acme.com",
    "https://id.acme.com?x", "https://id.acme.com#x", "https://u@id.acme.com", "https://",
    "http://127.0.0.1.nip.io",
    "https://id.acme.com/\n", "file:///x", "https://" + String(repeating: "a", count: 600),
  ])
  func `other URLs aren't issuers`(text: String) {
    let error = #expect(throws: IdentityError.self) { try IssuerURL(text) }
    #expect(error?.code == "provider-url")
  }

  // MARK: - The issuers of jobs

  @Test func `only issuers of identities are asked`() throws {
    let providers = IdentityProviders(transport: fake.transport, clock: fake.clock)
    let token = try token()
    for trusted in [[], ["https://id.acme.com/"], ["https://ID.acme.com"], ["https://other.example"]] {
      #expect(throws: IdentityError.untrustedIssuer(TestIssuer.name)) {
        try providers.provider(for: token, among: trusted)
      }
    }
    #expect(throws: IdentityError.claim("iss")) {
      try providers.provider(for: JSONWebToken(TestIssuer().token(["iss": .null])), among: [TestIssuer.name])
    }
    #expect(providers.count == 0 && fake.state.withLock { $0.requests.isEmpty })
    let provider = try providers.provider(for: token, among: [TestIssuer.name])
    #expect(try provider.verify(token, by: TestIssuer.rules()).subject == "u-17")
    #expect(try providers.provider(for: token, among: [TestIssuer.name]) === provider)
  }

  @Test func `issuers asked last are kept`() throws {
    let providers = IdentityProviders(transport: fake.transport, clock: fake.clock)
    func provider(_ number: Int) throws -> IdentityProvider {
      let name = "https://id\(number).acme.com"
      return try providers.provider(
        for: JSONWebToken(TestIssuer().token(["iss": .string(name)])), among: [name])
    }
    let first = try provider(0)
    for number in 1..<64 { _ = try provider(number) }
    #expect(try provider(0) === first)
    _ = try provider(64)
    #expect(providers.count == 64)
    #expect(try provider(0) === first)
  }

  // MARK: - Over sockets

  @Test func `a provider on this machine is asked over http, and not redirected`() throws {
    let key = TestKey.p256Key
    let base = Locked("")
    let server = SocketServer { request in
      let name = base.withLock { $0 }
      let body: [UInt8] =
        switch request.path {
        case Self.discovery:
          JSONValue.object(["issuer": .string(name), "jwks_uri": .string(name + "/keys")]).canonical
        case "/keys": TestIssuer.bytes([key.jwk("k1")])
        default: []
        }
      let head =
        request.path == "/moved\(Self.discovery)"
        ? "HTTP/1.1 302 Found\r\nLocation: \(name)\(Self.discovery)\r\n" : "HTTP/1.1 200 OK\r\n"
      return [.send(Array("\(head)Content-Length: \(body.count)\r\n\r\n".utf8) + body)]
    }
    base.withLock { $0 = server.url }
    let second = Clock.unixMilliseconds() / 1000
    func token(_ issuer: String) throws -> JSONWebToken {
      try JSONWebToken(
        TestIssuer().token(["iss": .string(issuer), "iat": .integer(second), "exp": .integer(second + 60)]))
    }
    func claims(_ issuer: String) throws -> Claims {
      let url = try IssuerURL(issuer)
      return try IdentityProvider(url).verify(
        token(issuer), by: IDTokenRules(issuer: url, recipient: .client("console"), nonce: "n-1"))
    }
    #expect(try claims(server.url).subject == "u-17")
    let error = #expect(throws: IdentityError.self) { try claims(server.url + "/moved") }
    #expect(error?.code == "provider-answer" && error?.message.contains("redirects") == true)
  }

  @Test func `nothing but this machine is asked over http`() {
    let error = #expect(throws: HTTPClientError.self) {
      try IdentityTransport.http().send(HTTPRequest("GET", "http://169.254.169.254/"), 100)
    }
    guard case .refusedAddress? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }
}
