import Manifests
import Trust

extension Publisher {
  /// The progress of a publish.
  package enum Progress: Hashable, Sendable {
    /// Files whose digests are known, out of all, and the bytes read for that.
    case hashing(done: Int, of: Int, bytes: Int64)
    /// Checking the build.
    case checking
    /// The release brings files of a kind that the live bundle has none of; reported before any file is sent.
    case newKind(NewKind)
    /// The release removes this many addresses of folders, of which this is one, though their `index.html` stays: perhaps
    /// `--index` was dropped. Reported before any file is sent.
    case indexDropped(BundleName, folders: Int, url: String)
    /// The release says nothing of what is lazy, or of routes, and the live bundle does. Reported before any file is sent.
    case settingsDropped(DroppedSettings)
    /// Which source maps belong to which files. Reported before any file is sent.
    case sourceMaps(SourceMapPairing)
    /// There is a key, and nothing to sign: the app has no root, or one that is off.
    case notSigned(AppName)
    /// The app has a root, and this dry run no key; the release would need one.
    case lacksKey(AppName)
    /// The release rules out what the bundle was up to this version: devices won't take it, and it can't be rolled back to.
    case raisesFloor(BundleName, above: ManifestVersion)
    /// What is signed holds in a channel, too, that the app doesn't have.
    case signsForUnknown(ChannelName, known: [ChannelName])
    /// A dry run found that the release would wait at the origin for these signatures.
    case wouldWait([LackingSignatures])
    /// A dry run found what the release would sign: a bundle, by these keys, for these channels.
    case wouldSign(BundleName, keys: [KeyID], channels: [ChannelName])
    /// The release will wait for signatures, and another one of the same files does already; with its number.
    case waitsAlready(Int64)
    /// What is released doesn't wait, and this release of the same bundles does, to replace it: its number, and what it is.
    case stillWaits(Int64, String)
    /// The number and size of the files that the origin lacks, which are sent next; reported once, if there are any.
    case lacking(files: Int, bytes: Int64)
    /// Bytes sent, out of those that the origin lacks; failed attempts can make it more.
    case sending(Int64, of: Int64)
    /// The origin makes deltas from what devices have: files done, out of all new ones.
    case preparing(done: Int64, of: Int64)
    /// Everything is sent; the origin makes the release.
    case releasing
    /// The release is visible; deltas from older versions are being made.
    case waitingForDeltas(left: Int)

    /// Whether it is something to know about the release, and not how far it has come.
    package var isRemark: Bool {
      switch self {
      case .newKind, .indexDropped, .settingsDropped, .sourceMaps, .notSigned, .lacksKey, .raisesFloor,
        .wouldSign,
        .wouldWait,
        .waitsAlready,
        .stillWaits:
        true
      default: false
      }
    }
  }
}
