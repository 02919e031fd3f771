import Identity
import System
import Testing

/// What one sign-in is recognised by.
@Suite struct SignInSecretsTests {
  @Test func `the challenge is that of RFC 7636, appendix B`() {
    #expect(
      SignInSecrets.challenge(of: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
  }

  @Test func `secrets are new each time, and verifiers are such`() {
    let (one, other) = (SignInSecrets(), SignInSecrets())
    #expect(Set([one.state, one.nonce, one.verifier, other.state, other.nonce, other.verifier]).count == 6)
    #expect(SignInSecrets.isVerifier(one.verifier))
    #expect(Base64URL.decode(one.state.utf8)?.count == 32)
    #expect(one.isState(one.state) && !one.isState(other.state) && !one.isState(""))
  }

  @Test(arguments: [
    ("a", 42, false), ("a", 43, true), ("~", 128, true), ("a", 129, false), ("+", 43, false),
    ("é", 43, false),
  ])
  func `verifiers have 43 to 128 unreserved characters`(character: String, count: Int, isOne: Bool) {
    #expect(SignInSecrets.isVerifier(String(repeating: character, count: count)) == isOne)
  }
}
