import Identity
import Store

/// How people sign in with an OpenID Connect provider, and what that lets them do.
package struct SignInOptions: Sendable {
  /// The provider, with the client that the origin is there.
  package let provider: IdentityProvider
  /// What the provider is asked for, separated by spaces; `openid` among them.
  package var scopes = "openid profile email"
  /// The claim with a person's name; nil: a verified email address, else `preferred_username`, else `sub`.
  package var nameClaim: String?
  /// Who may do what.
  package let roles: [RoleRule]
  /// Seconds after which one has to sign in again.
  package var sessionTime: Int64 = 12 * 3600
  /// Scheme, host and port of the console, as browsers reach it: `https://xcache.example.com`.
  package var origin: String

  /// Creates options with the defaults for all else.
  package init(provider: IdentityProvider, roles: [RoleRule], origin: String) {
    self.provider = provider
    self.roles = roles
    self.origin = origin
  }

  /// Where the provider's answer goes: registered there for this client.
  package var redirectURI: String { origin + "/auth/callback" }

  /// The claims that decide on roles and names.
  var neededClaims: Set<String> { RoleRule.claims(of: roles).union([nameClaim ?? "email"]) }

  /// Returns what somebody may do, the widest first; empty if no role is theirs.
  func grants(of claims: Claims) -> [Grant] {
    let all = RoleRule.grants(of: roles, for: claims).compactMap(Grant.init)
    let distinct = all.enumerated().filter { (place, grant) in
      !all.enumerated().contains { (other, wider) in
        other != place && wider.includes(grant) && !(grant.includes(wider) && place < other)
      }
    }.map(\.element)
    // Where a list has room for one only, it is the one that allows most.
    return distinct.enumerated().sorted { a, b in
      (b.element.scope, a.element.width, a.offset) < (a.element.scope, b.element.width, b.offset)
    }.map(\.element)
  }

  /// Returns a person's name for lists and the audit trail. An address that isn't verified is nobody's name.
  func name(of claims: Claims) -> String {
    if let nameClaim, nameClaim != "email", let name = claims.text(of: nameClaim) { return name }
    let email = claims.text(of: "email")
    if let email, claims.isEmailVerified { return email }
    // Whoever may choose their name mustn't take another's address: not if the provider says that theirs isn't verified.
    if let name = claims.text(of: "preferred_username"), email == nil || !name.contains("@") { return name }
    return claims.subject
  }
}

extension Grant {
  /// Nil for what no token allows; rules are checked when the server starts.
  fileprivate init?(_ role: RoleGrant) {
    guard let scope = TokenScope(rawValue: role.scope) else { return nil }
    var bundles: BundleGlob?
    if let text = role.bundles {
      guard let glob = BundleGlob(text) else { return nil }
      bundles = glob
    }
    self.init(scope, app: role.app, channel: role.channel, bundles: bundles)
  }

  /// Whether it allows all that another does.
  fileprivate func includes(_ other: Grant) -> Bool {
    scope >= other.scope && (app == nil || app == other.app) && (channel == nil || channel == other.channel)
      && (bundles == nil || bundles == other.bundles)
  }

  /// How many limits it has.
  fileprivate var width: Int { (app == nil ? 0 : 1) + (channel == nil ? 0 : 1) + (bundles == nil ? 0 : 1) }
}
