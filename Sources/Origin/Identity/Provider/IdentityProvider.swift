import HTTP
import HTTPClient
import System
import Values

/// One issuer of ID tokens: what it publishes about itself, its keys, and the calls of a sign-in. Any thread may call it; a
/// call may block for as long as its requests to the provider take, 10 s each.
package final class IdentityProvider: Sendable {
  /// What we are registered as at a provider where people sign in.
  package struct Client: Sendable, CustomStringConvertible {
    /// `client_id`.
    package let id: String
    /// `client_secret`; nil for a public client.
    let secret: String?

    package init(id: String, secret: String?) {
      self.id = id
      self.secret = secret
    }

    /// The identifier alone.
    package var description: String { id }
  }

  /// Who it is.
  package let issuer: IssuerURL
  let client: Client?
  let caller: ProviderCaller
  private let published = Monitor(SnapshotRules())
  let clock: @Sendable () -> Int64

  /// - Parameters:
  ///   - issuer: who it is.
  ///   - client: nil where nobody signs in, as for the issuers of jobs' tokens.
  ///   - transport: how it is asked.
  ///   - clock: milliseconds since 1970.
  package init(
    _ issuer: IssuerURL, client: Client? = nil, transport: IdentityTransport = .http(),
    clock: @escaping @Sendable () -> Int64 = Clock.unixMilliseconds
  ) {
    self.issuer = issuer
    self.client = client
    caller = ProviderCaller(transport)
    self.clock = clock
  }

  /// Verifies a token by the issuer's keys, and its claims by rules, whose issuer must be this one.
  ///
  /// The keys are kept for an hour; if none has made the signature, they are fetched anew, at most once in 30 s. While the
  /// provider doesn't answer, those it had are used for 24 h.
  package func verify(_ token: JSONWebToken, by rules: IDTokenRules) throws(IdentityError) -> Claims {
    guard rules.issuer == issuer else { throw .issuer(expected: issuer.text, actual: rules.issuer.text) }
    let first = try snapshot()
    do throws(IdentityError) {
      return try rules.verify(token, with: first.keys, at: clock())
    } catch {
      guard error.mayBeRotation else { throw error }
      guard let newer = try newerSnapshot(than: first, after: error) else { throw error }
      return try rules.verify(token, with: newer.keys, at: clock())
    }
  }

  /// What the provider publishes, not much older than it may be.
  func snapshot() throws(IdentityError) -> ProviderSnapshot {
    guard let snapshot = try snapshot(newerThan: nil) else { throw .busy }
    return snapshot
  }

  /// What the provider publishes since `first`, whose keys led to `error`; nil if there is nothing newer.
  private func newerSnapshot(than first: ProviderSnapshot, after error: IdentityError) throws(IdentityError)
    -> ProviderSnapshot?
  {
    do throws(IdentityError) {
      return try snapshot(newerThan: first.number)
    } catch let failure {
      // A signature that isn't one stays wrong; a key that isn't known may be one that can't be fetched.
      if case .unknownKey = error { throw failure }
      return nil
    }
  }

  private func snapshot(newerThan seen: Int?) throws(IdentityError) -> ProviderSnapshot? {
    // Whoever has waited for somebody else's fetch finds its result, or else is told of its failure.
    for _ in 0..<2 {
      let now = clock()
      switch published.withLock({ $0.next(at: now, newerThan: seen) }) {
      case .use(let snapshot): return snapshot
      case .nothingNewer: return nil
      case .fail(let error): throw error
      case .fetch: return try fetch(newerThan: seen)
      case .wait: try waitForFetch()
      }
    }
    throw .busy
  }

  private func waitForFetch() throws(IdentityError) {
    let isAdmitted = published.withLock { rules in
      guard rules.waiting < SnapshotRules.waitingLimit else { return false }
      rules.waiting += 1
      return true
    }
    guard isAdmitted else { throw .busy }
    // Two requests, of 10 s each at most.
    _ = published.waiting(for: .seconds(25)) { $0.isFetching ? nil : true }
    published.withLock { $0.waiting -= 1 }
  }

  private func fetch(newerThan seen: Int?) throws(IdentityError) -> ProviderSnapshot? {
    do throws(IdentityError) {
      let url = try ProviderURL(issuer.discovery, allowsLoopback: issuer.isLoopback)
      let metadata = try ProviderMetadata(try caller.document(url), of: issuer, from: url.place)
      let keys = try KeySet(
        try caller.document(metadata.keys, limit: KeySet.limit), from: metadata.keys.place)
      let now = clock()
      return published.broadcasting { rules in
        rules.fetched(metadata, keys, at: now)
        return rules.held
      }
    } catch {
      let now = clock()
      guard let held = published.broadcasting({ $0.failed(error, at: now, newerThan: seen) }) else {
        throw error
      }
      return held
    }
  }
}

extension IdentityError {
  /// Whether newer keys of the issuer may lead to another result.
  fileprivate var mayBeRotation: Bool {
    switch self {
    case .unknownKey, .signature, .algorithmOfKey: true
    default: false
    }
  }
}
