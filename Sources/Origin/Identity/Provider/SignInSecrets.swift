import System

/// What one sign-in is recognised by: made anew for each, kept by the browser's login cookie until the callback.
package struct SignInSecrets: Hashable, Sendable {
  /// Comes back with the code: the answer belongs to this browser's request (RFC 6749 §10.12).
  package let state: String
  /// Comes back in the ID token: it was made for this sign-in (OpenID Connect Core §3.1.2.1).
  package let nonce: String
  /// Redeems the code: whoever has only the code can't (RFC 7636 §4.1).
  package let verifier: String

  /// Creates secrets of 256 random bits each: 43 characters of base64url.
  package init() {
    self.init(state: Self.random(), nonce: Self.random(), verifier: Self.random())
  }

  /// Restores secrets that were kept.
  package init(state: String, nonce: String, verifier: String) {
    self.state = state
    self.nonce = nonce
    self.verifier = verifier
  }

  /// The challenge that the authorization request shows (`S256`, RFC 7636 §4.2).
  package var challenge: String { Self.challenge(of: verifier) }

  /// The challenge of a verifier: also what a command that signs in by the loopback redirect shows.
  package static func challenge(of verifier: String) -> String {
    Base64URL.encode(SHA256.of(Array(verifier.utf8)).bytes)
  }

  /// Whether a text may be a verifier: 43 to 128 unreserved characters (RFC 7636 §4.1).
  package static func isVerifier(_ text: String) -> Bool {
    (43...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
      }
  }

  /// Whether a state that came back is this one. The time taken reveals only its length.
  package func isState(_ text: String) -> Bool { Secrets.equal(Array(state.utf8), Array(text.utf8)) }

  private static func random() -> String { Base64URL.encode(Secrets.random(32)) }
}
