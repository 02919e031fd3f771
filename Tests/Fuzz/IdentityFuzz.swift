// A fuzz target for what is read of ID tokens before and after their signature is verified, of key sets, and of rules of roles. Built
// against Identity; see run.sh.
//
// The first byte says what the rest is: a token, a payload, a key set, a rule, or an issuer. Beside what the sanitizer finds, it traps
// where claims are accepted that the rules don't allow, or a key set verifies a token that no key made.

import System
import Values

@testable import Identity

private let now: Int64 = 1_796_040_000_000

/// libFuzzer calls this with each input; 0 keeps the input in its reckoning.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  guard let start, count > 1 else { return 0 }
  let input = [UInt8](UnsafeBufferPointer(start: start + 1, count: count - 1))
  let text = String(decoding: input, as: UTF8.self)
  switch start[0] % 5 {
  case 0: readToken(text)
  case 1: readClaims(input)
  case 2: readKeys(input)
  case 3: readRule(text)
  default: readIssuer(text)
  }
  return 0
}

/// A token that nobody here has signed.
private func readToken(_ text: String) {
  guard let token = try? JSONWebToken(text) else { return }
  _ = (token.claimedIssuer, token.digest)
  let key = SigningKey()
  guard let verifier = SignatureKey(ed25519: key.publicKey) else { fatalError("its own key isn't one") }
  if verifier.verifies(token.signature, of: token.signed) { fatalError("a signature of nobody") }
}

private func readClaims(_ payload: [UInt8]) {
  let header = Base64URL.encode(Array(#"{"alg":"ES256"}"#.utf8))
  guard let token = try? JSONWebToken("\(header).\(Base64URL.encode(payload)).AA"),
    let issuer = try? IssuerURL("https://id.acme.com")
  else { return }
  for recipient in [IDTokenRules.Recipient.client("console"), .audience(["console", "other"])] {
    let rules = IDTokenRules(issuer: issuer, recipient: recipient, maxAge: 3_600_000, maxLife: 3_600_000)
    do throws(IdentityError) {
      let claims = try rules.claims(of: token, at: now)
      guard claims.issuer == issuer.text, !claims.subject.isEmpty, claims.expiresAt > now - 60_000,
        claims.expiresAt <= now + 3_660_000, claims.issuedAt <= now + 60_000,
        claims.issuedAt >= now - 3_660_000,
        claims.audiences.contains("console") || claims.audiences.contains("other")
      else { fatalError("claims that the rules don't allow") }
      _ = (claims.values(of: "groups.a.b"), claims.isEmailVerified, claims.text(of: "email"))
    } catch {
      if error.message.utf8.count > 8192 { fatalError("a message that is too long") }
    }
  }
}

private func readKeys(_ bytes: [UInt8]) {
  guard let keys = try? KeySet(bytes) else { return }
  if keys.count > KeySet.keyLimit { fatalError("more keys than there may be") }
  let signature = Base64URL.encode([UInt8](repeating: 7, count: 64))
  for algorithm in JSONWebToken.Algorithm.allCases {
    let header = Base64URL.encode(Array(#"{"alg":"\#(algorithm.rawValue)"}"#.utf8))
    guard let token = try? JSONWebToken("\(header).e30.\(signature)") else {
      fatalError("a token isn't read")
    }
    if (try? keys.verify(token)) != nil, algorithm != .edDSA { fatalError("a signature of nobody") }
  }
}

private func readRule(_ text: String) {
  do throws(RoleRuleError) {
    let rule = try RoleRule(text)
    if rule.claim.isEmpty || rule.claim == "email" && rule.value?.contains("@") != true {
      fatalError("a rule for nobody in particular")
    }
    guard try RoleRule(rule.text) == rule else { fatalError("the same rule is another one") }
  } catch {
    if error.message.utf8.count > 8192 { fatalError("a message that is too long") }
  }
}

private func readIssuer(_ text: String) {
  guard let issuer = try? IssuerURL(text) else { return }
  let isPlain = issuer.discovery.hasPrefix("http://")
  guard isPlain == issuer.isLoopback, isPlain || issuer.discovery.hasPrefix("https://"),
    issuer.discovery.hasSuffix("/.well-known/openid-configuration")
  else { fatalError("an issuer that isn't one") }
}
