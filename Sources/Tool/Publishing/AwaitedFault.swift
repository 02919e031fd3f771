import Manifests
import Trust
import Values

/// Why a release that waits for signatures isn't signed here. Nothing has been sent then.
package enum AwaitedFault: Error, Sendable {
  /// Thrown when what the origin says can't be read: a statement, or the release itself.
  case unreadable(Int64, String)
  /// Thrown when the release starts from a version whose entries don't name their bundles, and which isn't the newest any more.
  case baseUnknown(BundleName, ManifestVersion)
  /// Thrown when the origin would carry out something else than what is to be signed.
  case otherContent(BundleName)
  /// Thrown when a statement is for another app, environment, channel or bundle.
  case otherPlace(BundleName)
  /// Thrown when no key of the root that may sign this has signed it.
  case unsigned(BundleName, RootNumber)
  /// Thrown when devices would refuse it, whoever signs it.
  case refused(BundleName, TrustFailure)
  /// Thrown when the serial is later than now, and doesn't follow from what was signed before.
  case serialAhead(BundleName, Serial)
  /// Thrown when the files here aren't what is to be signed, with what differs.
  case buildDiffers(BundleName, [String])
  /// Thrown when there is a build of a bundle that the release doesn't bring.
  case notInRelease(BundleName)
  /// Thrown when some bundles of the release are compared with a build, and this one isn't.
  case noBuild(BundleName)
  /// Thrown when none of the keys is among those that the release waits for.
  case notAsked(KeyID, [KeyID])
  /// Thrown when the keys have signed it already, and it waits for others.
  case signedAlready(KeyID, [KeyID])
}

extension AwaitedFault {
  package var message: String {
    switch self {
    case .unreadable(let id, let reason):
      "what the origin says of release \(id) can't be read: \(reason). Nothing was signed"
    case .baseUnknown(let bundle, let version):
      "the release changes bundle \(bundle) as it was in version \(version), which doesn't say what the bundle held, so that it can't be "
        + "compared with what is to be signed. Nothing was signed; publish it again"
    case .otherContent(let bundle):
      "what the origin would make of bundle \(bundle) isn't what is to be signed. Nothing was signed; don't trust this origin until you "
        + "know why"
    case .otherPlace(let bundle):
      "the statement of bundle \(bundle) is for another app, environment, channel or bundle. Nothing was signed"
    case .unsigned(let bundle, let root):
      "no key that root \(root) names for it has signed bundle \(bundle), so nobody says that it is what was meant to be released. "
        + "Nothing was signed; publish it again with a key of the root"
    case .refused(let bundle, let failure):
      "devices would refuse bundle \(bundle), whoever signs it (\(failure.rawValue)). Nothing was signed; publish it again"
    case .serialAhead(let bundle, let serial):
      "the statement of bundle \(bundle) has the serial \(serial), a time that is still to come, and no earlier statement asks for it: "
        + "whoever made it has a wrong clock, or wants to rule out what follows. Nothing was signed; take the release back, and publish it "
        + "again"
    case .buildDiffers(let bundle, let differences):
      "the build here isn't what is to be signed of bundle \(bundle): "
        + (differences.isEmpty
          ? "its digest differs"
          : "\(differences.count == 1 ? "1 file differs" : "\(differences.count) files differ")")
        + ". Nothing was signed. Check out and build what was published, or take the release back"
        + (differences.isEmpty ? "" : ":" + Listing.below(differences, hint: "these come first"))
    case .notInRelease(let bundle): "the release doesn't bring bundle \(bundle), of which a build was given"
    case .noBuild(let bundle):
      "the release brings bundle \(bundle), too, and there is no build of it to compare: give --bundle \(bundle)=DIR, or --no-build to "
        + "sign without comparing any. Nothing was signed"
    case .notAsked(let key, let candidates):
      "the release doesn't wait for the key \(key.text.prefix(16))…, but for \(Self.list(candidates)). Nothing was signed"
    case .signedAlready(let key, let candidates):
      "the key \(key.text.prefix(16))… has signed this already; the release waits for \(Self.list(candidates))"
    }
  }

  private static func list(_ keys: [KeyID]) -> String {
    let words = keys.map { $0.text.prefix(16) + "…" }
    return words.isEmpty ? "nobody" : (words.count > 1 ? "one of " : "") + words.joined(separator: ", ")
  }

  /// 3 if it isn't to be signed, 2 if the command line makes no sense, 1 if it can't be read.
  var exitCode: Int32 {
    switch self {
    case .unreadable: 1
    case .notInRelease: 2
    default: 3
    }
  }

  /// A name for programs.
  package var name: String {
    switch self {
    case .unreadable: "not-an-origin"
    case .baseUnknown, .otherContent, .buildDiffers: "content-differs"
    case .otherPlace: "other-statement"
    case .unsigned, .refused, .serialAhead: "unsigned"
    case .notInRelease: "usage"
    case .noBuild: "not-compared"
    case .notAsked, .signedAlready: "not-awaited"
    }
  }
}
