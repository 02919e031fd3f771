import System
import Values

/// The issuers of jobs' tokens, each with its keys.
package final class IdentityProviders: Sendable {
  /// The most issuers whose keys are kept: those asked last.
  package static let limit = 64

  private let transport: IdentityTransport
  private let clock: @Sendable () -> Int64
  // The one asked last comes first.
  private let held = Locked<[IdentityProvider]>([])

  /// - Parameter clock: milliseconds since 1970.
  package init(
    transport: IdentityTransport = .http(), clock: @escaping @Sendable () -> Int64 = Clock.unixMilliseconds
  ) {
    self.transport = transport
    self.clock = clock
  }

  /// Returns the provider of the issuer that a token claims to have.
  /// - Parameters:
  ///   - token: as it was received.
  ///   - trusted: the issuers of the admin's identities. No other one is ever asked for anything.
  /// - Throws: `untrustedIssuer`, `claim("iss")`, `url`.
  package func provider(for token: JSONWebToken, among trusted: some Sequence<String>) throws(IdentityError)
    -> IdentityProvider
  {
    guard let claimed = token.claimedIssuer else { throw .claim("iss") }
    guard trusted.contains(where: { UTF8Order.areEqual($0, claimed) }) else {
      throw .untrustedIssuer(claimed)
    }
    let issuer = try IssuerURL(claimed)
    return held.withLock { providers in
      let index = providers.firstIndex { $0.issuer == issuer }
      let provider =
        index.map { providers.remove(at: $0) }
        ?? IdentityProvider(issuer, transport: transport, clock: clock)
      providers.insert(provider, at: 0)
      if providers.count > Self.limit { providers.removeLast() }
      return provider
    }
  }

  /// The number of issuers whose keys are kept.
  package var count: Int { held.withLock { $0.count } }
}
