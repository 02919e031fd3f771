import Testing

@testable import Identity

/// What is told of a refusal.
@Suite struct IdentityErrorTests {
  private static let all: [IdentityError] = [
    .malformed("it has a hole"), .tooLong, .algorithm("none"), .algorithmOfKey("RS256"), .critical,
    .tokenType("at+jwt"), .unknownKey("k1"), .unknownKey(nil), .signature,
    .issuer(expected: "https://a.example", actual: nil), .issuer(expected: "https://a.example", actual: "b"),
    .untrustedIssuer("b"), .audience(expected: ["a"], actual: ["b"]), .authorizedParty("b"),
    .authorizedParty(nil),
    .expired(at: 0), .notYet(at: 1), .tooOld(issuedAt: 1), .tooLongLived(until: 1), .nonce, .claim("exp"),
    .answerIssuer, .refused(error: "invalid_grant", description: "used"), .otherSubject,
    .url("x", problem: "it is relative"), .providerDown(host: "id.acme.com", reason: "no host"),
    .providerAnswer("id.acme.com/keys", problem: "it is empty"), .busy,
  ]

  @Test(arguments: all) func `each error has a code and words of its own`(error: IdentityError) {
    #expect(error.code.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x2D })
    #expect(error.message != error.code && error.message.count > 20 && !error.message.hasSuffix("."))
  }

  @Test func `the causes that lie with the provider are told apart`() {
    #expect(
      Set(Self.all.filter(\.isOfProvider).map(\.code)) == [
        "provider-url", "provider-down", "provider-answer", "busy",
      ])
  }

  @Test func `long and odd texts don't fill a message`() {
    let odd = String(repeating: "a\u{1B}[31m\n", count: 3000)
    for error: IdentityError in [
      .algorithm(odd), .tokenType(odd), .unknownKey(odd), .issuer(expected: "x", actual: odd),
      .untrustedIssuer(odd),
      .audience(expected: ["x"], actual: Array(repeating: odd, count: 900)), .authorizedParty(odd),
      .refused(error: odd, description: odd), .url(odd, problem: "p"), .claim(odd),
      .providerAnswer(odd, problem: "p"),
    ] {
      #expect(error.message.utf8.count < 3000)
      #expect(!error.message.unicodeScalars.contains { $0.value < 0x20 })
    }
  }
}
