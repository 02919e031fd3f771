import Manifests
import OriginAPI
import Trust
import Values

/// Why a release isn't signed, or devices wouldn't take what it signs. Nothing has been sent then, or at least nothing released.
package enum TrustFault: Error, Sendable {
  /// Thrown when an app with a root needs signatures, and there is no key.
  case noKey(ChannelAddress)
  /// Thrown when the origin's roots don't follow from the one that the app is built with, or from its first one.
  case roots(AppName, CeremonyError)
  /// Thrown when the root is another app's.
  case otherApp(AppName)
  /// Thrown when no root can be read where the origin says that there is one.
  case noRoot(AppName)
  /// Thrown when the project's settings name a root, and the origin says that the app has none: nothing would be signed.
  case rootMissing(AppName, path: String)
  /// Thrown when the root that the project's settings name is another app's.
  case otherRoot(AppName, path: String, of: AppName)
  /// Thrown when the root names a key for no release, or for no prefetch config.
  case unlisted(KeyID, RootNumber, what: String)
  /// Thrown when the root names a key for other bundles or channels.
  case outOfScope(KeyID, BundleName, ChannelName, RootNumber)
  /// Thrown when the root names a key for other URLs than these.
  case urlsOutOfScope(KeyID, BundleName, [String], RootNumber)
  /// Thrown when more keys must sign.
  case tooFewSignatures(BundleName, ChannelName, has: Int, needed: Int)
  /// Thrown when more keys must sign what is promoted.
  case tooFewToPromote(BundleName, to: ChannelName, has: Int, needed: Int)
  /// Thrown when the origin would make another content of the release than the files here. The URLs may be empty: it doesn't
  /// always show which.
  case contentDiffers(BundleName, [String])
  /// Thrown when a statement is of other files than those here.
  case otherContent(BundleName)
  /// Thrown when a statement that was given is for another app, environment or channel, or twice of a bundle.
  case otherPlace(BundleName)
  /// Thrown when a statement that was given is of a bundle that isn't published.
  case otherBundle(BundleName)
  /// Thrown when what is promoted isn't what a valid statement signs, so that it can't be judged from here.
  case unverified(BundleName, ChannelName, ManifestVersion)
  /// Thrown when a valid statement has the highest serial that there is.
  case noSerialLeft(String)
  /// Thrown when the key can't be read, or its program fails.
  case signing(SigningError)
  /// Thrown when a statement can't be written, because it has too many channels.
  case form(TrustFormError)
}

extension TrustFault {
  /// What is wrong, where, and what to do.
  var message: String {
    switch self {
    case .noKey(let channel):
      "app \(channel.app) has a root, so its devices take only what is signed, and there is no key: give one with --sign-key, "
        + "XCACHE_SIGN_KEY or \"signWith\" in xcache.json. Nothing was sent"
    case .roots(let app, let error):
      "\(error). Nothing was signed; `xcache trust status --app \(app)` shows what the origin has"
    case .otherApp(let app): "the root is another app's than \(app). Nothing was signed"
    case .noRoot(let app):
      "the origin says that app \(app) has a root, but gives none that can be read. Nothing was signed"
    case .rootMissing(let app, let path):
      "this project's xcache.json says that releases are signed as \(path) says, and the origin says that app \(app) has no root. Nothing "
        + "was sent. If this is the right origin, and it never had one, `xcache trust push \(path)` puts it in force; until then, leave "
        + "\"root\" out of xcache.json"
    case .otherRoot(let app, let path, let other):
      "this project's xcache.json says that releases are signed as \(path) says, which is a root of app \(other), not of \(app). Nothing "
        + "was sent"
    case .unlisted(let key, let root, let what):
      "root \(root) names the key \(key) for no \(what), so devices would refuse what it signs. Nothing was sent; sign with a key of the "
        + "root, or add this one with `xcache trust add-key`"
    case .outOfScope(let key, let bundle, let channel, let root):
      "root \(root) names the key \(key), but not for bundle \(bundle) in channel \(channel). Nothing was sent; sign with another key, or "
        + "widen its scope with `xcache trust set-scope`"
    case .urlsOutOfScope(let key, let bundle, let urls, let root):
      "root \(root) doesn't let the key \(key) sign \(Self.count(urls.count)) of bundle \(bundle). Nothing was sent; sign with another "
        + "key, or widen its prefixes with `xcache trust set-scope`:"
        + Listing.below(urls, hint: "the others are below the same prefixes or none")
    case .tooFewSignatures(let bundle, let channel, let has, let needed):
      "the root asks for \(needed) signatures of bundle \(bundle) in channel \(channel), and there \(has == 1 ? "is 1" : "are \(has)"). "
        + "Nothing was sent. Give each key by a --sign-key of its own, or write the statements with `xcache publish --statements-out "
        + "FILE`; whoever has the next key publishes the same build with --statement FILE and that key"
    case .tooFewToPromote(let bundle, let channel, let has, let needed):
      "the root asks for \(needed) signatures of bundle \(bundle) in channel \(channel), and there \(has == 1 ? "is 1" : "are \(has)"). "
        + "Nothing was sent. Give each key by a --sign-key of its own, or publish with `--sign-for \(channel)`, so that what is signed "
        + "holds there, too, and promoting needs no key"
    case .contentDiffers(let bundle, let urls):
      "the origin would make something else of bundle \(bundle) than the files here\(urls.isEmpty ? ", and doesn't show where" : ""). "
        + "Nothing was signed or released. Publish again with --rehash; if it differs again, don't trust this origin"
        + (urls.isEmpty ? "" : ":" + Listing.below(urls, hint: "these differ first"))
    case .otherContent(let bundle):
      "the statement for bundle \(bundle) is of other files than those here: check out the same build, or write it anew with "
        + "--statements-out. Nothing was sent"
    case .otherPlace(let bundle):
      "the statement for bundle \(bundle) is for another app, environment or channel, or there is a second one of it. Nothing was sent"
    case .otherBundle(let bundle):
      "there is a statement for bundle \(bundle), which isn't published here. Nothing was sent"
    case .unverified(let bundle, let channel, let version):
      "bundle \(bundle) in version \(version) of \(channel) isn't what a valid statement signs, so it can't be checked from here. Nothing "
        + "was signed; publish its files instead"
    case .noSerialLeft(let what):
      "a valid statement of \(what) has the highest serial that there is, so that none can follow: replace its key in the next root, and "
        + "set its floor there"
    case .signing(let error): error.description
    case .form(let error): "no statement can be written: \(error)"
    }
  }

  /// 3 if the release is refused, 1 if the key can't be used.
  var exitCode: Int32 {
    switch self {
    case .signing, .form: 1
    default: 3
    }
  }

  /// A name for programs.
  package var name: String {
    switch self {
    case .noKey, .tooFewSignatures, .tooFewToPromote, .unverified: "unsigned"
    case .roots, .otherApp, .noRoot, .rootMissing, .otherRoot: "root-refused"
    case .unlisted, .outOfScope, .urlsOutOfScope: "key-scope"
    case .contentDiffers: "content-differs"
    case .otherContent, .otherPlace, .otherBundle: "other-statement"
    case .noSerialLeft, .signing, .form: "signing"
    }
  }

  private static func count(_ urls: Int) -> String { urls == 1 ? "a URL" : "\(urls) URLs" }
}
