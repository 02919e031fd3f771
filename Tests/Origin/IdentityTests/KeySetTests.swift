import System
import Testing
import Values

@testable import Identity

/// Which keys of an issuer are used.
@Suite struct KeySetTests {
  private static func rsa(_ change: [String: JSONValue]) -> JSONValue { TestKey.rsaKey.jwk("k", change) }

  @Test func `each kind is read, and others are left out`() throws {
    let keys = try TestIssuer.keys(
      TestKey.all.map { $0.jwk("k") } + [
        .object(["kty": "oct", "k": "c2VjcmV0", "kid": "k"]),
        .object(["kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"]),
        .object(["kty": "OKP", "crv": "X25519", "x": .string(Base64URL.encode(SigningKey().publicKey))]),
        .object(["kty": "unknown"]), .object([:]), 1, "k", .null, [],
      ])
    #expect(keys.count == 3)
    for key in TestKey.all {
      try keys.verify(try JSONWebToken(TestIssuer(key: key, keyID: "k").token()))
    }
  }

  @Test(
    arguments: [
      (["use": "sig"], true), (["use": "enc"], false), (["use": 1], false), (["key_ops": ["verify"]], true),
      (["key_ops": ["encrypt"]], false), (["key_ops": "verify"], false), (["alg": "RS256"], true),
      (["alg": "PS256"], false), (["alg": "RS512"], false), (["alg": "ES256"], false),
      (["alg": "HS256"], false),
      (["alg": .null], false), (["kid": 7], false), (["d": "AQAB"], false), (["x5c": ["MIIB"]], true),
    ] as [([String: JSONValue], Bool)])
  func `what a key is for is respected`(change: [String: JSONValue], isUsed: Bool) throws {
    #expect(try TestIssuer.keys([Self.rsa(change)]).count == (isUsed ? 1 : 0))
  }

  @Test func `weak RSA keys aren't used`() throws {
    for bits: Int32 in [512, 1024, 2040] {
      let key = TestKey.rsa(RSATestKey(bits: bits))
      #expect(try TestIssuer.keys([key.jwk("k")]).count == 0)
      #expect(throws: IdentityError.unknownKey("k1")) {
        try TestIssuer.keys([key.jwk("k1")]).verify(try JSONWebToken(TestIssuer(key: key).token()))
      }
    }
    func text(_ bytes: [UInt8]) -> JSONValue { .string(Base64URL.encode(bytes)) }
    let modulus = RSATestKey.shared.modulus
    let even = modulus.dropLast() + [modulus[modulus.count - 1] & 0xFE]
    let large = [UInt8](repeating: 0xFF, count: 1025)
    for change in [
      ["e": text([1])], ["e": text([2])], ["e": text([1, 0, 0])], ["e": text([0])], ["e": ""],
      ["e": text([])],
      ["e": text([1, 0, 0, 0, 0, 0, 0, 0, 1])], ["n": text(Array(even))], ["n": text(large)], ["n": ""],
      ["n": text([0, 0])],
      ["n": .string(Base64.encode(modulus))], ["e": .null], ["n": 65_537], ["e": "AQAB="],
    ] as [[String: JSONValue]] {
      #expect(try TestIssuer.keys([Self.rsa(change)]).count == 0)
    }
    #expect(try TestIssuer.keys([Self.rsa(["e": text([3])])]).count == 1)
    // RFC 7518 §6.3.1.1: "some cryptographic libraries prefix an extra zero-valued octet".
    #expect(try TestIssuer.keys([Self.rsa(["n": text([0] + modulus)])]).count == 1)
  }

  @Test func `points have to be on the curve`() throws {
    let zero = Base64URL.encode([UInt8](repeating: 0, count: 32))
    let short = Base64URL.encode([UInt8](repeating: 1, count: 31))
    let large = Base64URL.encode([UInt8](repeating: 0xFF, count: 32))
    for text in [zero, short, large, "", "AA"] {
      for name in ["x", "y"] {
        #expect(try TestIssuer.keys([TestKey.p256Key.jwk("k", [name: .string(text)])]).count == 0)
      }
    }
    let both: [String: JSONValue] = ["x": .string(zero), "y": .string(zero)]
    #expect(try TestIssuer.keys([TestKey.p256Key.jwk("k", both)]).count == 0)
    #expect(try TestIssuer.keys([TestKey.ed25519Key.jwk("k", ["x": .string(short)])]).count == 0)
  }

  @Test func `sets are limited`() throws {
    let key = TestKey.ed25519Key.jwk("k")
    #expect(try TestIssuer.keys(Array(repeating: key, count: 100)).count == 100)
    for keys in [Array(repeating: key, count: 101), Array(repeating: .object([:]), count: 10_000)] {
      let error = #expect(throws: IdentityError.self) { try TestIssuer.keys(keys) }
      #expect(error?.code == "provider-answer")
    }
    let padding = JSONValue.string(String(repeating: " ", count: KeySet.limit))
    #expect(throws: IdentityError.self) {
      try KeySet(JSONValue.object(["keys": [], "x": padding]).canonical)
    }
  }

  @Test(arguments: [
    "", "{}", "[]", "null", #"{"keys":{}}"#, #"{"keys":"k"}"#, #"{"keys":[]"#, #"{"keys":[],"keys":[]}"#,
    "<html>",
  ])
  func `what isn't a set is refused`(text: String) {
    let error = #expect(throws: IdentityError.self) { try KeySet(Array(text.utf8)) }
    #expect(error?.code == "provider-answer")
  }

  @Test func `of several keys with one kid, one has to have signed`() throws {
    let others = (0..<3).map { _ in TestKey.p256(P256PrivateKey()).jwk("k1") }
    let token = try JSONWebToken(TestIssuer().token())
    try TestIssuer.keys(others + [TestKey.p256Key.jwk("k1")]).verify(token)
    #expect(throws: IdentityError.signature) { try TestIssuer.keys(others).verify(token) }
    // A kind of its own under the same kid changes nothing.
    try TestIssuer.keys([TestKey.rsaKey.jwk("k1"), TestKey.p256Key.jwk("k1")]).verify(token)
  }

  @Test func `keys and tokens without a kid find each other`() throws {
    let named = try JSONWebToken(TestIssuer().token())
    let nameless = try JSONWebToken(TestIssuer(keyID: nil).token())
    let key = TestKey.p256Key
    try TestIssuer.keys([key.jwk()]).verify(named)
    try TestIssuer.keys([TestKey.rsaKey.jwk("a"), key.jwk("b")]).verify(nameless)
    #expect(throws: IdentityError.unknownKey("k1")) { try TestIssuer.keys([key.jwk("k2")]).verify(named) }
    #expect(throws: IdentityError.unknownKey(nil)) { try TestIssuer.keys([]).verify(nameless) }
    // A key of that name goes before those without one.
    let other = TestKey.p256(P256PrivateKey())
    #expect(throws: IdentityError.signature) {
      try TestIssuer.keys([other.jwk("k1"), key.jwk()]).verify(named)
    }
  }
}
