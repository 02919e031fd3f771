import System
import Testing
import TestSupport
import Values

@testable import Identity

/// Tokens that somebody made up or changed.
@Suite struct HostileTokenTests {
  private let issuer = TestIssuer()

  private func verify(_ text: String, _ keys: [JSONValue]? = nil) throws -> Claims {
    try TestIssuer.rules().verify(
      try JSONWebToken(text), with: try keys.map(TestIssuer.keys) ?? issuer.keys(), at: TestIssuer.now)
  }

  @Test(arguments: TestKey.all)
  func `a token of each kind is accepted by its own key alone`(key: TestKey) throws {
    let issuer = TestIssuer(key: key)
    let claims = try verify(issuer.token(), [key.jwk("k1")])
    #expect(claims.subject == "u-17" && claims.issuer == TestIssuer.name)
    #expect(claims.audiences == [TestIssuer.client])
    #expect(claims.expiresAt == TestIssuer.now + 300_000)
    let others = [TestKey.rsa(RSATestKey(bits: 2048)), .p256(P256PrivateKey()), .ed25519(SigningKey())]
    for other in others {
      let error = #expect(throws: IdentityError.self) { try verify(issuer.token(), [other.jwk("k1")]) }
      #expect(error == (other.algorithm == key.algorithm ? .signature : .algorithmOfKey(key.algorithm)))
    }
  }

  @Test(arguments: [
    "none", "None", "nOnE", "", "HS256", "HS512", "RS512", "PS256", "ES384", "ES256K", "es256", "dir",
  ])
  func `other algorithms are refused`(name: String) {
    #expect(throws: IdentityError.algorithm(name)) {
      try verify(issuer.token(header: ["alg": .string(name)]))
    }
  }

  /// The public key as the secret of an HMAC, in the forms in which it is published.
  @Test(arguments: TestKey.all)
  func `a public key is no shared secret`(key: TestKey) {
    let header = Base64URL.encode(Array(#"{"alg":"HS256","kid":"k1"}"#.utf8))
    let signed = "\(header).\(Base64URL.encode(JSONValue.object(TestIssuer.claims).canonical))"
    let numbers = key.members.values.compactMap { Base64URL.decode($0.utf8) }
    for secret in numbers + [key.jwk("k1").canonical, []] {
      let token = "\(signed).\(Base64URL.encode(HMAC.sha256(secret, Array(signed.utf8))))"
      #expect(throws: IdentityError.algorithm("HS256")) { try verify(token, [key.jwk("k1")]) }
    }
  }

  @Test func `the header's algorithm has to be that of the key's kind`() {
    #expect(throws: IdentityError.algorithmOfKey("RS256")) {
      try verify(issuer.token(header: ["alg": "RS256"]))
    }
    #expect(throws: IdentityError.algorithmOfKey("EdDSA")) {
      try verify(issuer.token(header: ["alg": "EdDSA"]))
    }
    #expect(throws: IdentityError.algorithmOfKey("EdDSA")) {
      try verify(issuer.token(header: ["alg": "Ed25519"]))
    }
    let rsa = TestIssuer(key: .rsaKey)
    #expect(throws: IdentityError.algorithmOfKey("ES256")) {
      try verify(rsa.token(header: ["alg": "ES256"]), [TestKey.rsaKey.jwk("k1")])
    }
  }

  @Test func `keys in the header are never used`() throws {
    let own = TestKey.p256(P256PrivateKey())
    let stranger = TestIssuer(key: own)
    for header in [
      ["jwk": own.jwk("k1")], ["jku": "https://evil.example/keys"], ["x5u": "https://evil.example/x"],
      ["x5c": ["MIIB"]],
    ] as [[String: JSONValue]] {
      #expect(throws: IdentityError.signature) { try verify(stranger.token(header: header)) }
      // They don't harm a token that is signed.
      #expect(try verify(issuer.token(header: header)).subject == "u-17")
    }
  }

  @Test(arguments: [["b64"], [], ["exp"], "exp", nil] as [JSONValue?])
  func `extensions that must be understood are refused`(names: JSONValue?) {
    #expect(throws: IdentityError.critical) {
      try verify(issuer.token(header: ["crit": names ?? .bool(false), "b64": false]))
    }
  }

  @Test(arguments: [
    ("JWT", true), ("jwt", true), ("application/jwt", true), ("JOSE", true), ("at+jwt", false),
    ("logout+jwt", false), ("dpop+jwt", false), ("secevent+jwt", false), ("", false),
  ])
  func `another kind of token isn't an ID token`(type: String, isAccepted: Bool) throws {
    let token = issuer.token(header: ["typ": .string(type)])
    if isAccepted {
      #expect(try verify(token).subject == "u-17")
    } else {
      #expect(throws: IdentityError.tokenType(type)) { try verify(token) }
    }
    #expect(try verify(issuer.token(header: ["typ": .null])).subject == "u-17")
  }

  @Test(arguments: [
    "../../etc/passwd", "k1' OR '1'='1", "k1\u{0}", "", "K1", "k1 ", "https://evil.example/key", "🔑",
    String(repeating: "k", count: 5000), "%00", "e\u{301}",
  ])
  func `a kid is only ever compared`(id: String) throws {
    #expect(throws: IdentityError.unknownKey(id)) { try verify(issuer.token(header: ["kid": .string(id)])) }
    #expect(IdentityError.unknownKey(id).message.utf8.count < 1500)
    // Composed and decomposed letters are different names.
    #expect(throws: IdentityError.unknownKey(id)) {
      try verify(issuer.token(header: ["kid": .string(id)]), [issuer.key.jwk("\u{E9}")])
    }
    #expect(try verify(issuer.token(header: ["kid": .string(id)]), [issuer.key.jwk(id)]).subject == "u-17")
  }

  @Test(arguments: [
    #"{"alg":"ES256","alg":"ES256","kid":"k1"}"#, #"{"alg":"none","alg":"ES256"}"#, #"["ES256"]"#,
    #""ES256""#, "",
    "null", #"{"alg":"ES256""#, #"{"alg":"ES256"}x"#, #"{"alg":1}"#, "{}", #"{"alg":"ES256","kid":7}"#,
    #"{"alg":"ES256","typ":null}"#, "{\"alg\":\"ES256\",\"kid\":\"\u{0}\"}",
  ])
  func `a header that isn't one is refused`(text: String) {
    let token = issuer.token(header: Array(text.utf8), payload: JSONValue.object(TestIssuer.claims).canonical)
    let error = #expect(throws: IdentityError.self) { try verify(token) }
    #expect(error?.code == "malformed-token")
  }

  @Test func `a payload with a member twice, or that isn't an object, is refused`() throws {
    let header = JSONValue.object(issuer.header).canonical
    let claims = String(decoding: JSONValue.object(TestIssuer.claims).canonical, as: UTF8.self)
    let deep = String(repeating: "[", count: 5000)
    for payload in [
      claims.replacing(#""sub":"#, with: #""sub":"admin","sub":"#), "[\(claims)]", "\(claims) \(claims)", "",
      "1",
      #"{"iss":\#(deep)"#, "\u{FEFF}\(claims)",
    ] {
      let error = #expect(throws: IdentityError.self) {
        try verify(issuer.token(header: header, payload: Array(payload.utf8)))
      }
      #expect(error?.code == "malformed-token")
    }
    #expect(throws: IdentityError.self) {
      try verify(issuer.token(header: header, payload: [0x7B, 0xFF, 0x7D]))
    }
  }

  @Test func `tokens in other forms are refused`() throws {
    let token = issuer.token()
    let parts = token.split(separator: ".").map(String.init)
    for text in [
      "", ".", "..", "...", "....", parts[0], "\(parts[0]).\(parts[1])", "\(parts[0]).\(parts[1]).",
      ".\(parts[1]).\(parts[2])",
      "\(parts[0])..\(parts[2])", "\(token).", ".\(token)", "\(token).a.b", "\(token)=", "\(token)==",
      " \(token)", "\(token) ",
      "\(token)\n", "Bearer \(token)", token.replacing(".", with: "=."), token + "A", token + "/",
      token + "+",
      #"{"payload":"\#(parts[1])","protected":"\#(parts[0])","signature":"\#(parts[2])"}"#,
    ] {
      #expect(throws: IdentityError.self) { try verify(text) }
    }
    #expect(throws: IdentityError.tooLong) {
      try verify(String(repeating: "a", count: JSONWebToken.limit + 1))
    }
    let large = issuer.token(["x": .string(String(repeating: "x", count: 17_000))])
    #expect(throws: IdentityError.tooLong) { try verify(large) }
  }

  /// The last character of 64 bytes has four bits that mean nothing: with others set, the text would be another one of the same
  /// signature.
  @Test func `bits left over have to be zero`() throws {
    let token = issuer.token()
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    let last = try #require(token.last.flatMap { alphabet.firstIndex(of: $0) })
    for bits in 1..<16 {
      let other = String(token.dropLast()) + String(alphabet[last | bits])
      #expect(throws: IdentityError.self) { try verify(other) }
    }
    #expect(try verify(token).subject == "u-17")
  }

  @Test func `signatures of ES256 are r and s of 32 bytes each, neither zero nor above the order`() throws {
    let signed = issuer.token().split(separator: ".").prefix(2).joined(separator: ".")
    guard case .p256(let key) = issuer.key else { return }
    let good = issuer.key.sign(Array(signed.utf8))
    let zero = [UInt8](repeating: 0, count: 32)
    let order: [UInt8] = [
      0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6, 0xFA,
      0xAD, 0xA7,
      0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]
    let (r, s) = (Array(good.prefix(32)), Array(good.suffix(32)))
    for signature in [
      zero + zero, zero + s, r + zero, order + s, r + order, order + order, [0xFF] + good, good + [0],
      Array(good.dropLast()),
      Array(good.prefix(32)), s + r, key.sign(Array(signed.utf8)), [0],
    ] {
      #expect(throws: IdentityError.signature) { try verify("\(signed).\(Base64URL.encode(signature))") }
    }
    #expect(try verify("\(signed).\(Base64URL.encode(good))").subject == "u-17")
  }

  @Test(arguments: TestKey.all)
  func `signatures of other lengths are refused`(key: TestKey) throws {
    let issuer = TestIssuer(key: key)
    let signed = issuer.token().split(separator: ".").prefix(2).joined(separator: ".")
    let good = key.sign(Array(signed.utf8))
    let padded = [0] + good
    for signature in [padded, good + [0], Array(good.dropLast()), Array(good.dropFirst()), good + good] {
      #expect(throws: IdentityError.signature) {
        try verify("\(signed).\(Base64URL.encode(signature))", [key.jwk("k1")])
      }
    }
  }

  /// Anyone can make (r, n − s) of (r, s).
  @Test func `what identifies a token doesn't cover the signature`() throws {
    let token = issuer.token()
    let again = issuer.token()
    #expect(token != again)
    #expect(try JSONWebToken(token).digest == JSONWebToken(again).digest)
    #expect(try JSONWebToken(issuer.token(["jti": "2"])).digest != JSONWebToken(token).digest)
  }

  @Test(arguments: TestKey.all)
  func `no mutation of a token is ever accepted`(key: TestKey) throws {
    let issuer = TestIssuer(key: key)
    let token = Array(issuer.token(["groups": ["mobile-team", "admins"]]).utf8)
    let keys = try TestIssuer.keys([key.jwk("k1"), TestKey.ed25519Key.jwk("k2"), key.jwk()])
    let rules = try TestIssuer.rules()
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \n\u{0}".utf8)
    var random = SplitMix(seed: 46)
    for round in 0..<4000 {
      var bytes = token
      for _ in 0...random.below(3) where !bytes.isEmpty {
        let at = random.below(bytes.count)
        switch random.below(5) {
        case 0: bytes[at] ^= 1 << UInt8(random.below(7))
        case 1: bytes[at] = alphabet[random.below(alphabet.count)]
        case 2: bytes.removeSubrange(at..<min(bytes.count, at + 1 + random.below(8)))
        case 3: bytes.insert(alphabet[random.below(alphabet.count)], at: at)
        default:
          bytes.insert(
            contentsOf: bytes[at..<min(bytes.count, at + random.below(64))], at: random.below(bytes.count))
        }
      }
      let text = String(decoding: bytes, as: UTF8.self)
      guard !text.utf8.elementsEqual(token) else { continue }
      let claims = try? rules.verify(try JSONWebToken(text), with: keys, at: TestIssuer.now)
      #expect(claims == nil, "round \(round) with seed 46: \(text)")
    }
    let original = try rules.verify(
      try JSONWebToken(String(decoding: token, as: UTF8.self)), with: keys, at: TestIssuer.now)
    #expect(original.values(of: "groups") == ["mobile-team", "admins"])
  }

  /// What is signed is still hostile: the issuer's software may copy what its users entered.
  @Test func `claims of any form never trap`() throws {
    var random = SplitMix(seed: 47)
    let values: [JSONValue] = [
      .null, true, 0, -1, .number("1e308"), .number("-1e308"), .number("1e400"), .number("0.5"),
      .number("-0"),
      .number("9223372036854775807"), .number("9223372036854775808"),
      .number(String(repeating: "9", count: 400)), "",
      "x", .string(TestIssuer.name), [], ["console"], [1, "console"], .object([:]), .object(["a": [["b"]]]),
      .string("\u{0}"),
    ]
    let names = [
      "iss", "sub", "aud", "azp", "exp", "iat", "nbf", "nonce", "email", "email_verified", "groups",
    ]
    for _ in 0..<3000 {
      var claims: [String: JSONValue] = [:]
      for _ in 0...random.below(3) {
        claims[names[random.below(names.count)]] = values[random.below(values.count)]
      }
      let payload = JSONValue.object(TestIssuer.claims(claims)).canonical
      let header = Array(#"{"alg":"ES256"}"#.utf8)
      let text = "\(Base64URL.encode(header)).\(Base64URL.encode(payload)).AA"
      let token = try JSONWebToken(text)
      guard let read = try? TestIssuer.rules().claims(of: token, at: TestIssuer.now) else { continue }
      // Whatever was let through is about somebody, for us, and of now.
      #expect(!read.subject.isEmpty && read.audiences.contains(TestIssuer.client))
      #expect(read.expiresAt > TestIssuer.now - 60_000 && read.issuedAt <= TestIssuer.now + 60_000)
      _ = (read.values(of: "groups.a"), read.isEmailVerified, read.text(of: "email"))
    }
  }
}
