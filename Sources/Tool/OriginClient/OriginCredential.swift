/// A token with which a client asks an origin, where it came from, and how it is renewed.
package struct OriginCredential: Sendable {
  /// A token's text, and when it ends.
  package struct Token: Hashable, Sendable {
    package let text: String
    /// In milliseconds since 1970; nil if it doesn't end, or that isn't known.
    package let endsAt: Int64?

    package init(_ text: String, endsAt: Int64? = nil) {
      self.text = text
      self.endsAt = endsAt
    }
  }

  package let token: Token
  /// Where it came from, for messages; nil if that doesn't matter.
  package let source: String?
  /// What is said, in place of the origin's words, if the origin takes the token for unknown, expired or revoked.
  package var remedy: String?
  /// Gets another token before this one ends; nil if there is none to be had. Called from any thread.
  package var renewed: (@Sendable () -> Token?)?

  package init(_ text: String, source: String?) {
    token = Token(text)
    self.source = source
  }

  package init(_ token: Token, source: String?, remedy: String?, renewed: (@Sendable () -> Token?)? = nil) {
    self.token = token
    self.source = source
    self.remedy = remedy
    self.renewed = renewed
  }
}
