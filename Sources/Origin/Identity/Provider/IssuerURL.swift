import Values

/// The URL of an issuer of ID tokens, exactly as its tokens write it: `https://token.actions.githubusercontent.com`.
///
/// https, or http on a loopback host, without query, fragment and user. Two are equal only if their bytes are: one with a slash at
/// its end is another issuer (OpenID Connect Core §2, "using the https scheme … no query or fragment").
package struct IssuerURL: Hashable, Sendable, CustomStringConvertible {
  /// The most bytes of an issuer.
  package static let limit = 512

  /// The issuer as written.
  package let text: String
  /// Its host without port: `id.acme.com`.
  package let host: String
  /// Whether it is an http URL of a loopback host, whose endpoints may be such, too.
  package let isLoopback: Bool
  /// The document that describes the provider (OpenID Connect Discovery §4).
  let discovery: String

  /// - Throws: `url`.
  package init(_ text: String) throws(IdentityError) {
    guard text.utf8.count <= Self.limit else { throw .url(text, problem: "it is longer than 512 bytes") }
    let url = try ProviderURL(text, allowsLoopback: true)
    guard url.query == nil else { throw .url(text, problem: "an issuer has no query") }
    self.text = text
    host = url.host
    isLoopback = url.isPlain
    // "If the Issuer value contains a path component, any terminating / MUST be removed before appending".
    let base = url.text.hasSuffix("/") ? String(url.text.dropLast()) : url.text
    discovery = base + "/.well-known/openid-configuration"
  }

  package var description: String { text }

  package static func == (a: IssuerURL, b: IssuerURL) -> Bool { UTF8Order.areEqual(a.text, b.text) }
  package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

/// A URL at which a provider is asked, as it is sent: https, or http on a loopback host where that is allowed.
struct ProviderURL: Hashable, Sendable {
  /// The URL as it is sent.
  let text: String
  /// The host without port.
  let host: String
  /// The query without its `?`; nil if there is none.
  let query: String?
  /// Whether it is http.
  let isPlain: Bool
  /// The host and path, for messages: a query may have what shouldn't be told.
  let place: String

  /// - Parameter allowsLoopback: whether http is accepted for loopback hosts.
  /// - Throws: `url`.
  init(_ text: String, allowsLoopback: Bool) throws(IdentityError) {
    guard !text.utf8.contains(UInt8(ascii: "#")) else { throw .url(text, problem: "it has a fragment") }
    let url: ResourceURL
    do {
      url = try ResourceURL(text)
    } catch {
      throw .url(text, problem: "it isn't an absolute https URL without user")
    }
    isPlain = url.scheme == "http"
    host = String(url.host)
    if isPlain, !(allowsLoopback && Self.isLoopback(url.host)) {
      throw .url(
        text,
        problem: "it must begin with https://; http is for loopback hosts alone, and for a provider on one")
    }
    self.text = url.text
    query = url.query.map(String.init)
    place = String(url.authority + url.path)
  }

  /// Whether a host of a URL is this machine (RFC 6761 §6.3).
  static func isLoopback(_ host: Substring) -> Bool {
    if host == "localhost" || host.hasSuffix(".localhost") { return true }
    let plain = host.hasPrefix("[") ? host.dropFirst().dropLast() : host
    return IPAddress(String(plain))?.isLoopback ?? false
  }
}
