import Manifests
import Trust
import Values

/// Why a root, or a draft of one, is refused before anything is sent; `description` says it to people.
package enum CeremonyError: Error, Hashable, Sendable {
  /// A file has no root in an envelope; with the reason.
  case notARoot(path: String, TrustFormError)
  /// A file can't be read; with the reason.
  case unreadable(path: String, String)
  /// The origin's root of this number isn't the one that a file has.
  case otherRoot(RootNumber, path: String)
  /// The origin's root of this number doesn't follow from a file's, with what a device would say.
  case brokenChain(RootNumber, path: String, TrustFailure)
  /// The origin has no root that follows the one of a file, though it has others.
  case behind(newest: RootNumber, path: String)
  /// A root has members that this version doesn't know, and would leave out of the next one.
  case unknownMembers(RootNumber)
  /// A change would make a root that no reader takes; with what is wrong.
  case noReader(TrustFormError)
  /// The root doesn't name a key.
  case unknownKey(String)
  /// A key's id is given by too few digits.
  case shortKey(String)
  /// A key signs roots, where one is meant that signs something else.
  case rootKey(KeyID)
  /// A key signs something else, where one is meant that signs roots.
  case noRootKey(KeyID)
  /// Several keys of the root begin like this.
  case ambiguousKey(String)
  /// A key is in another list already, where it can't be beside this one.
  case otherUse(KeyID)
  /// A change would leave fewer keys than have to sign.
  case tooFewKeys(of: String, left: Int, threshold: Int)
  /// A channel was released to while it was read.
  case changedMeanwhile(ChannelName)
  /// What the origin says of a bundle isn't what it holds.
  case otherContent(ChannelName, BundleName)
  /// An envelope of the origin can't be read; with what is wrong.
  case envelope(ChannelName, String, TrustFormError)
  /// Rollouts are open in these channels, which an app's first root can't be put in force beside.
  case openRollouts([ChannelName])
  /// There would be more head keys, or others, than a root can have.
  case tooMany(String, limit: Int)
}

extension CeremonyError {
  /// Whether what is there forbids it, and not that something is missing or can't be read.
  package var isRefusal: Bool {
    switch self {
    case .notARoot, .unreadable, .unknownKey, .shortKey, .rootKey, .noRootKey, .ambiguousKey,
      .changedMeanwhile,
      .unknownMembers:
      false
    default: true
    }
  }
}

extension CeremonyError: CustomStringConvertible {
  /// What is wrong, where, and what to do.
  package var description: String {
    switch self {
    case .notARoot(let path, let error): "\(path) isn't a root: \(error)"
    case .unreadable(let path, let reason): "\(path) can't be read: \(reason)"
    case .otherRoot(let number, let path):
      "the origin has another root \(number) than \(path): one of them isn't the app's; compare with the root in the app's build"
    case .brokenChain(let number, let path, let failure):
      "the origin's root \(number) doesn't follow from \(path) (\(failure.rawValue)): no device takes it. If \(path) is the root of "
        + "the app's build, somebody has changed what the origin has"
    case .behind(let newest, let path):
      "the origin's newest root is number \(newest), which is older than \(path): it was restored from a backup, or isn't this "
        + "app's; push \(path) again first"
    case .unknownMembers(let number):
      "root \(number) has members that this version of xcache doesn't know, and would lose: update xcache"
    case .noReader(let error): "no device would read that root: \(error)"
    case .unknownKey(let text):
      "the root names no key \(text)\(text.allSatisfy(\.isHexDigit) ? "" : ", and there is no such file"); `xcache trust status` lists "
        + "its keys"
    case .shortKey(let text):
      "\(text.isEmpty ? "an empty text" : text) is too little of a key's id: give at least \(RootDraft.fewestDigits) digits"
    case .rootKey(let key):
      "\(key) is a root key: `xcache trust remove-root \(key.text.prefix(16))` takes it from the root"
    case .noRootKey(let key):
      "\(key) is no root key: `xcache trust remove-key \(key.text.prefix(16))` takes it from the root"
    case .ambiguousKey(let text): "several keys of the root begin with \(text): give more of the id"
    case .otherUse(let key):
      "\(key) is a key of the root for something else already; what signs roots can sign nothing else"
    case .tooFewKeys(let what, let left, let threshold):
      "that would leave \(Count.text(left, "key")) for \(what), of which \(threshold) must sign: add one first, or lower the threshold"
    case .changedMeanwhile(let channel):
      "channel \(channel) was released to while it was read; run this again"
    case .otherContent(let channel, let bundle):
      "what the origin says of bundle \(bundle) in \(channel) isn't what it holds; nothing was signed. `xcache doctor` on the origin "
        + "says whether its data is damaged"
    case .envelope(let channel, let name, let error):
      "the origin's statement of \(name) in \(channel) can't be read: \(error)"
    case .openRollouts(let channels):
      "a rollout is open in \(channels.map(\.text).joined(separator: ", ")), and an app's first root changes all versions of a channel: "
        + "complete it or halt it first, with `xcache rollout complete` or `xcache rollout halt`"
    case .tooMany(let what, let limit): "a root can have at most \(limit) \(what)"
    }
  }
}
