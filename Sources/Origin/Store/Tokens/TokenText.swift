import System

/// A token's secret: 32 random bytes. Whoever creates it keeps it; the origin has only its hash.
package struct TokenSecret {
  let bytes: [UInt8]

  static let count = 32

  /// Creates a random secret.
  package init() { bytes = Secrets.random(Self.count) }

  fileprivate init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The hash that an origin stores.
  package var hash: SHA256 { SHA256.of(bytes) }

  /// The token's text, once the origin has assigned its id.
  package func text(id: String) -> String { "xcache_\(id)_\(Base64URL.encode(bytes))" }
}

/// A token's text: `xcache_<id>_<secret>`, with the secret in base64url.
struct TokenText {
  let id: String
  let secret: TokenSecret

  private static let idCount = 6

  static func newID() -> String { Hex.encode(Secrets.random(idCount).span.bytes) }

  init?(_ text: String) {
    guard text.utf8.count <= 128, text.hasPrefix("xcache_") else { return nil }
    // The secret's alphabet has an underscore; an id's doesn't.
    let parts = text.dropFirst("xcache_".count).split(
      separator: "_", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, Hex.decode(parts[0], count: Self.idCount) != nil,
      let secret = Base64URL.decode(parts[1].utf8), secret.count == TokenSecret.count
    else { return nil }
    id = String(parts[0])
    self.secret = TokenSecret(secret)
  }

  /// The hash of the secret that is stored.
  var hash: SHA256 { secret.hash }
}
