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
  /// Thrown when the value of `email` has no `@`: the one that is there began the app, or it was `*`.
  case email(rule: String)
  /// Thrown when what follows the last `@` isn't an app's name; with what is wrong with it.
  case app(String, rule: String, problem: String)
  /// Thrown when what follows `/` isn't a channel's name; with what is wrong with it.
  case channel(String, rule: String, problem: String)
  /// Thrown when what follows `:` can't be patterns of bundles.
  case bundles(String, rule: String)
}

extension RoleRule {
  private static let scopes: Set<String> = ["read", "release", "publish", "admin"]
  /// The most bytes of a rule.
  private static let limit = 1024

  /// Reads a rule.
  package init(_ text: String) throws(RoleRuleError) {
    guard text.utf8.count <= Self.limit, let equals = text.firstIndex(of: "="),
      !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else { throw .form(text) }
    let scope = String(text[..<equals])
    guard Self.scopes.contains(scope) else { throw .scope(scope, rule: text) }
    let rest = text[text.index(after: equals)...]
    // A value may have an @ itself, an app's name never has.
    let at = rest.lastIndex(of: "@")
    let condition = rest[..<(at ?? rest.endIndex)]
    guard let colon = Self.colon(in: condition) else { throw .form(text) }
    let claim = condition[..<colon]
    let value = condition[condition.index(after: colon)...]
    guard !claim.isEmpty, !value.isEmpty else { throw .form(text) }
    // Written without the app, an address would be cut at its @ into a value and an app.
    if claim == "email", !value.contains("@") { throw .email(rule: text) }
    guard value == "*" || !value.contains("*") else { throw .wildcard(String(value), rule: text) }
    self.text = text
    self.claim = String(claim)
    self.value = value == "*" ? nil : String(value)
    grant = try Self.grant(scope, at.map { rest[rest.index(after: $0)...] }, in: text)
  }

  /// The colon between claim and value: the first that isn't part of a URL's `://`.
  private static func colon(in condition: Substring) -> Substring.Index? {
    condition.indices.first {
      condition[$0] == ":" && !condition[condition.index(after: $0)...].hasPrefix("//")
    }
  }

  private static func grant(_ scope: String, _ limits: Substring?, in text: String) throws(RoleRuleError)
    -> RoleGrant
  {
    guard let limits else { return RoleGrant(scope: scope) }
    let parts = limits.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let names = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let app = try app(String(names[0]), in: text)
    let channel = names.count > 1 ? try channel(String(names[1]), in: text) : nil
    let bundles = parts.count > 1 ? try bundles(String(parts[1]), in: text) : nil
    return RoleGrant(scope: scope, app: app, channel: channel, bundles: bundles)
  }

  private static func app(_ name: String, in text: String) throws(RoleRuleError) -> AppName? {
    if name == "*" { return nil }
    do throws(NameError) {
      return try AppName(name)
    } catch {
      throw .app(name, rule: text, problem: "\(error)")
    }
  }

  private static func channel(_ name: String, in text: String) throws(RoleRuleError) -> ChannelName? {
    if name == "*" { return nil }
    do throws(NameError) {
      return try ChannelName(name)
    } catch {
      throw .channel(name, rule: text, problem: "\(error)")
    }
  }

  private static func bundles(_ patterns: String, in text: String) throws(RoleRuleError) -> String? {
    if patterns == "*" { return nil }
    let parts = patterns.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
    let isPattern = parts.allSatisfy { part in
      !part.isEmpty && part.allSatisfy { ASCII.isLetterOrDigit($0) || "*?.-_".utf8.contains($0) }
    }
    guard isPattern, patterns.utf8.count <= 128 else { throw .bundles(patterns, rule: text) }
    return patterns
  }
}
