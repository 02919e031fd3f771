import Manifests
import Values

/// What a role allows: as a token's limits, in words, for whoever keeps sessions to make a grant of.
package struct RoleGrant: Hashable, Sendable {
  /// `read`, `release`, `publish` or `admin`.
  package let scope: String
  /// The only app; nil: every app.
  package let app: AppName?
  /// The only channel; nil: every channel.
  package let channel: ChannelName?
  /// The patterns of the bundles, separated by commas; nil: every bundle.
  package let bundles: String?

  package init(scope: String, app: AppName? = nil, channel: ChannelName? = nil, bundles: String? = nil) {
    self.scope = scope
    self.app = app
    self.channel = channel
    self.bundles = bundles
  }
}

/// Gives a role to whoever has a value in a claim: `SCOPE=CLAIM:VALUE[@APP[/CHANNEL][:BUNDLES]]`.
///
/// `release=groups:mobile-team@shop`, `admin=email:ana@acme.com@*`, `publish=realm_access.roles:web@shop/beta:main,shop-*`.
/// Without `@` or with `@*` it is for all apps. The value `*` is anybody who has the claim.
package struct RoleRule: Hashable, Sendable {
  /// The rule as written.
  package let text: String
  /// The claim's name, or its path; see `Claims.values(of:)`.
  package let claim: String
  /// The value that the claim must have, exactly; nil: any.
  package let value: String?
  /// What it gives.
  package let grant: RoleGrant

  /// Whether somebody with these claims has the role.
  ///
  /// An email address that the issuer says it didn't verify gives no role: anyone could have entered it.
  package func matches(_ claims: Claims) -> Bool {
    if claim == "email", !claims.isEmailVerified { return false }
    let values = claims.values(of: claim)
    guard let value else { return values.contains { !$0.isEmpty } }
    return values.contains { UTF8Order.areEqual($0, value) }
  }

  /// Returns what somebody with these claims may do: the grants of all rules that match, each once, in their order.
  package static func grants(of rules: [RoleRule], for claims: Claims) -> [RoleGrant] {
    var grants: [RoleGrant] = []
    for rule in rules where rule.matches(claims) && !grants.contains(rule.grant) { grants.append(rule.grant) }
    return grants
  }

  /// The claims that rules ask for, by the names of their top-level members: what userinfo is asked for where the ID token
  /// doesn't have it.
  package static func claims(of rules: [RoleRule]) -> Set<String> { Set(rules.map(\.claim)) }
}

/// Why a text isn't a rule of a role.
package enum RoleRuleError: Error, Hashable, Sendable {
  /// Thrown when it isn't in the form `SCOPE=CLAIM:VALUE[@APP[/CHANNEL][:BUNDLES]]`.
  case form(String)
  /// Thrown when the word before `=` isn't a scope.
  case scope(String, rule: String)
  /// Thrown when a value has a `*` beside other characters.
  case wildcard(String, rule: String)
  /// Thrown when the value of `email` has no `@`: the one that is there was taken as the beginning of the app.
  case email(rule: String)
  /// Thrown when what follows the last `@` isn't an app's name; with what is wrong with it.
  case app(String, rule: String, problem: String)
  /// Thrown when what follows `/` isn't a channel's name; with what is wrong with it.
  case channel(String, rule: String, problem: String)
  /// Thrown when what follows `:` can't be patterns of bundles.
  case bundles(String, rule: String)
}

extension RoleRule {
  package init(_ text: String) throws(RoleRuleError) { fatalError("declared") }
}
