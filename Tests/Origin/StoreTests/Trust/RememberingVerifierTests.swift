import Manifests
import System
import Testing
import TestSupport
import Trust
import Values

@testable import Store

@Suite struct RememberingVerifierTests {
  /// Anything else is another result, however often the right one was asked for.
  @Test func resultsAreThoseOfTheSystem() throws {
    let (key, other) = (P256PrivateKey(), P256PrivateKey())
    let message = Array("a message".utf8)
    let statement = try PrefetchStatement(
      app: try AppName("shop"), channels: [.online], content: SHA256.of(message),
      serial: try #require(Serial(1)), floor: .zero)
    let signed = try Signed(statement).signed(by: key)
    let signature = try #require(signed.envelope.signatures.first?.signature)
    let verifier = RememberingVerifier()
    for _ in 1...3 {
      #expect(verifier.verifies(signature, of: signed.envelope.message, by: key.trustKey))
      #expect(!verifier.verifies(signature, of: signed.envelope.message, by: other.trustKey))
      #expect(!verifier.verifies(signature, of: signed.envelope.message + [0], by: key.trustKey))
    }
  }

  @Test func whatIsRememberedIsBounded() {
    var results = RecentResults(limit: 10)
    let digests = (0..<100).map { SHA256.of(Array("\($0)".utf8)) }
    for (index, digest) in digests.enumerated() {
      results[digest] = index % 2 == 0
      #expect(results.count <= 20)
      // What is asked for stays.
      #expect(results[digests[0]] == true)
    }
    #expect(results[digests[99]] == false && results[digests[50]] == nil)
  }
}
