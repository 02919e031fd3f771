import System
import Values

extension IdentityError {
  /// What is wrong, where, and what to do; no period at the end.
  package var message: String {
    switch self {
    case .malformed, .tooLong, .algorithm, .algorithmOfKey, .critical, .tokenType, .unknownKey, .signature:
      ofSignature
    case .issuer, .untrustedIssuer, .audience, .authorizedParty, .expired, .notYet, .tooOld, .tooLongLived,
      .nonce, .claim:
      ofClaims
    case .answerIssuer, .refused, .otherSubject, .url, .providerDown, .providerAnswer, .busy: ofProvider
    }
  }

  private var ofSignature: String {
    switch self {
    case .malformed(let problem): "the ID token can't be read: \(problem)"
    case .tooLong: "the ID token is longer than \(JSONWebToken.limit) bytes"
    case .algorithm(let name):
      "the ID token is signed by \(Quoted.text(name)); only RS256, ES256 and EdDSA are accepted: set one of them "
        + "for this client at the provider"
    case .algorithmOfKey(let name):
      "the ID token says that it is signed by \(name), but the key that it names is of another kind"
    case .critical: "the ID token demands extensions (crit) that aren't known here"
    case .tokenType(let name):
      "it is a token of type \(Quoted.text(name)), not an ID token; send the ID token"
    case .unknownKey(let id?):
      "the issuer publishes no key \(Quoted.text(id)) that can verify this ID token; after a change of keys, try "
        + "again in 30 s"
    case .unknownKey(nil): "the issuer publishes no key of the kind that this ID token is signed with"
    case .signature: "none of the issuer's keys made the signature of the ID token"
    default: code
    }
  }

  private var ofClaims: String {
    switch self {
    case .issuer(let expected, let actual):
      "the ID token is from the issuer \(Self.quoted(actual)), not from \(Quoted.text(expected)); they have to be "
        + "equal to the last character"
    case .untrustedIssuer(let issuer):
      "no identity has the issuer \(Quoted.text(issuer)); xcache identity add makes one"
    case .audience(let expected, let actual):
      "the ID token is for \(Self.list(actual)), not for \(Self.list(expected)); ask for one with that audience"
    case .authorizedParty(let party?):
      "the ID token was issued to another client, \(Quoted.text(party)) (azp)"
    case .authorizedParty(nil):
      "the ID token is for several clients and doesn't say which one it was issued to (azp)"
    case .expired(let end): "the ID token expired at \(Timestamp.words(end)); \(Self.clocks)"
    case .notYet(let start): "the ID token is valid from \(Timestamp.words(start)) on; \(Self.clocks)"
    case .tooOld(let start):
      "the ID token was issued at \(Timestamp.words(start)), too long ago; \(Self.clocks)"
    case .tooLongLived(let end):
      "the ID token is valid until \(Timestamp.words(end)), longer than is accepted; ask for one of shorter life"
    case .nonce: "the ID token belongs to another sign-in; sign in again"
    case .claim(let name): "the ID token's claim \(Quoted.text(name)) is missing, or not in its form"
    default: code
    }
  }

  private var ofProvider: String {
    switch self {
    case .answerIssuer: "the answer is from another provider than the one that was asked; sign in again"
    case .refused(let error, let description):
      "the provider refused the sign-in: \(Quoted.text(error))"
        + (description.map { ", \(Quoted.text($0))" } ?? "") + "; sign in again"
    case .otherSubject: "the provider's userinfo is about somebody else than the ID token"
    case .url(let text, let problem): "\(Quoted.text(text)) can't be a provider's URL: \(problem)"
    case .providerDown(let host, let reason):
      "the identity provider \(host) can't be asked: \(reason); try again later"
    case .providerAnswer(let place, let problem):
      "what the identity provider answers at \(Quoted.text(place)) can't be used: \(problem)"
    case .busy: "the identity provider is being asked by others; try again in a moment"
    default: code
    }
  }

  private static let clocks = "get a new one, or check the clocks of both machines"

  private static func quoted(_ text: String?) -> String {
    text.map { Quoted.text($0) } ?? "that it doesn't name"
  }

  /// At most five, since a token may have thousands.
  private static func list(_ texts: [String]) -> String {
    let shown = texts.prefix(5).map { Quoted.text($0) }.joined(separator: ", ")
    return texts.count > 5 ? "\(shown) and \(texts.count - 5) more" : shown
  }
}

extension RoleRuleError {
  /// What is wrong and what to do; no period at the end.
  package var message: String {
    switch self {
    case .form(let rule):
      "\(Quoted.text(rule)) is no rule of a role: write SCOPE=CLAIM:VALUE[@APP[/CHANNEL][:BUNDLES]], such as "
        + "release=groups:mobile-team@shop"
    case .scope(let word, let rule):
      "\(Quoted.text(word)) in the role \(Quoted.text(rule)) is no scope: use read, release, publish or admin"
    case .wildcard(let value, let rule):
      "\(Quoted.text(value)) in the role \(Quoted.text(rule)) would be compared as it is: only * alone stands for any value"
    case .email(let rule):
      "the role \(Quoted.text(rule)) has no whole address before the last @, which begins the app: write "
        + "email:ana@acme.com@* for all apps, email:ana@acme.com@shop for one; sub:* is anybody"
    case .app(_, let rule, let problem):
      "in the role \(Quoted.text(rule)), what follows the last @ has to be an app: \(problem); if the @ belongs to the "
        + "value, add @* for all apps"
    case .channel(_, let rule, let problem):
      "in the role \(Quoted.text(rule)), what follows the / has to be a channel: \(problem)"
    case .bundles(let patterns, let rule):
      "\(Quoted.text(patterns)) in the role \(Quoted.text(rule)) can't match bundles: use names with * and ?, separated "
        + "by commas, 128 characters at most"
    }
  }
}
