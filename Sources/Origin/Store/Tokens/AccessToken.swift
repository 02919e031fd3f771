import Manifests
import Values

/// Who signed in, as their provider names them (OpenID Connect Core §2: `iss`, `sub`).
package struct SignedInIdentity: Hashable, Sendable {
  /// The provider's URL.
  package let issuer: String
  /// The provider's name for the person or the job: unique there, and never another one's.
  package let subject: String
  /// A job's run, or the sort of a session: `console`, `console, Firefox on Linux` or `cli`; nil if it isn't known.
  package let detail: String?

  /// Creates an identity that a provider vouches for.
  package init(issuer: String, subject: String, detail: String? = nil) {
    self.issuer = issuer
    self.subject = subject
    self.detail = detail
  }

  /// Who vouches for the session of a token: this origin. No provider has this name, since theirs are URLs.
  package static let ownIssuer = "xcache"
}

/// A token as it is stored: everything but its secret. Whoever asks for something has one.
package struct AccessToken: Hashable, Sendable {
  /// How a token came about.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// An admin made it.
    case token
    /// A person signed in.
    case session
    /// A CI job traded its ID token.
    case job
  }

  /// The part of the token's text that identifies it.
  package let id: String
  /// The token's name, unique among those in use that admins made; of a session, the person's name; of a job, what identifies it.
  package let name: String
  /// What it lets its holder do.
  package let scope: TokenScope
  /// The only app; nil: every app.
  package let app: AppName?
  /// The only channel; nil: every channel.
  package let channel: ChannelName?
  /// Milliseconds since 1970, like all times here.
  package let createdAt: Int64
  /// When it was last used, to the minute; nil if never.
  package let lastUsedAt: Int64?
  /// When it was revoked; nil if it wasn't.
  package let revokedAt: Int64?
  /// The bundles that its holder may change; nil: every bundle.
  package let bundles: BundleGlob?
  /// When it expires; nil: never.
  package let expiresAt: Int64?
  /// The hosts whose URLs its holder may publish; nil: all.
  package let hosts: HostList?
  /// How it came about.
  package internal(set) var kind = Kind.token
  /// Who signed in; nil: an admin made it.
  package internal(set) var identity: SignedInIdentity?
  /// The name of the CI identity for which a job's ID token was traded; nil for all others.
  package internal(set) var job: String?
  /// What it allows beside what `scope`, `app`, `channel` and `bundles` say.
  package internal(set) var more: [Grant] = []

  /// All that it allows. The first is made of `scope`, `app`, `channel` and `bundles`.
  package var grants: [Grant] { [Grant(scope, app: app, channel: channel, bundles: bundles)] + more }

  /// The grant that is for the most apps, and of these for the most channels.
  package var widest: Grant { grants.max { $0.width < $1.width } ?? grants[0] }

  /// Whether any grant gives the holder `scope` in a channel.
  package func allows(_ scope: TokenScope, app: AppName, channel: ChannelName) -> Bool {
    grants.contains { $0.allows(scope, app: app, channel: channel) }
  }

  /// Whether the holder may change a bundle where the first grant holds, given a sufficient scope.
  package func allows(bundle: BundleName) -> Bool { bundles?.matches(bundle) ?? true }

  /// Whether the token covers all apps, channels, bundles and hosts, with whatever scope.
  package var isUnlimited: Bool { hosts == nil && grants.contains(where: \.isUnlimited) }

  /// Whether its holder may do everything.
  package var isUnrestrictedAdmin: Bool {
    hosts == nil && grants.contains { $0.scope >= .admin && $0.isUnlimited }
  }

  /// Whose acts are one person's: one has several sessions, and nobody approves what they asked for themselves. Of a session, issuer
  /// and subject; `job:` with the name of the CI identity; `token:` with the id, also of a session that was begun with the token.
  package var authorKey: String {
    switch kind {
    case .token: "token:\(id)"
    case .session:
      sourceToken.map { "token:\($0)" } ?? identity.map { "\($0.issuer) \($0.subject)" } ?? "token:\(id)"
    case .job: "job:\(job ?? "")"
    }
  }

  /// The id of the token that this session was begun with; nil for all other sessions, tokens and jobs.
  package var sourceToken: String? {
    guard kind == .session, let identity, identity.issuer == SignedInIdentity.ownIssuer else { return nil }
    return identity.subject.hasPrefix("token:") ? String(identity.subject.dropFirst("token:".count)) : nil
  }

  /// The token that what it registers and holds belongs to, by its id: the one that a session was begun with, else itself.
  package var ownerID: String { sourceToken ?? id }

  /// Whether what it scheduled is still carried out at a time, in milliseconds since 1970: sessions and jobs last for hours, and what
  /// they scheduled outlives them, unless they are revoked.
  func carriesOutSchedules(at time: Int64) -> Bool {
    revokedAt == nil && (kind != .token || expiresAt.map { $0 > time } ?? true)
  }
}

extension AccessToken {
  /// The token as its holder acts with it in a channel, on an act that takes `scope`: `bundles` are those that any grant for it covers.
  /// Its other grants stay, in `more`, for what the act needs in other channels.
  /// - Returns: nil if no grant gives that scope there.
  package func acting(on app: AppName, _ channel: ChannelName, _ scope: TokenScope) -> AccessToken? {
    let fitting = grants.filter { $0.allows(scope, app: app, channel: channel) }
    guard !fitting.isEmpty else { return nil }
    let bundles = Self.bundles(of: fitting)
    // A grant of a higher scope may be for fewer bundles: then it doesn't raise the scope for the others.
    let level =
      TokenScope.allCases.last { level in
        let above = fitting.filter { $0.scope >= level }
        return level >= scope && !above.isEmpty && Self.bundles(of: above) == bundles
      } ?? scope
    // Nor does one for fewer bundles widen where the others hold.
    let place =
      fitting.filter { $0.scope >= level && $0.bundles == bundles }.max { $0.width < $1.width }
      ?? Grant(level, app: app, channel: channel)
    let merged = Grant(level, app: place.app, channel: place.channel, bundles: bundles)
    return replacing(merged, grants.filter { $0 != merged })
  }

  /// The token as its holder acts with it in all channels of an app that its grants are for.
  /// - Returns: nil if no grant gives that scope in any of its channels.
  package func acting(in app: AppName, _ scope: TokenScope) -> AccessToken? {
    let fitting = grants.filter { $0.scope >= scope && ($0.app ?? app) == app }
    guard let first = fitting.first(where: { $0.channel == nil && $0.bundles == nil }) ?? fitting.first
    else { return nil }
    var more = grants
    more.remove(at: more.firstIndex(of: first) ?? 0)
    return replacing(first, more)
  }

  /// The bundles that any of some grants covers; nil: all.
  private static func bundles(of grants: [Grant]) -> BundleGlob? {
    let globs = grants.compactMap(\.bundles)
    return globs.count < grants.count ? nil : BundleGlob(anyOf: globs)
  }

  private func replacing(_ first: Grant, _ more: [Grant]) -> AccessToken {
    AccessToken(
      id: id, name: name, scope: first.scope, app: first.app, channel: first.channel, createdAt: createdAt,
      lastUsedAt: lastUsedAt, revokedAt: revokedAt, bundles: first.bundles, expiresAt: expiresAt,
      hosts: hosts, kind: kind, identity: identity, job: job, more: more)
  }
}

extension Grant {
  /// How much of the origin it is for: grants for all apps come after those for one.
  fileprivate var width: Int { (app == nil ? 2 : 0) + (channel == nil ? 1 : 0) }
}
