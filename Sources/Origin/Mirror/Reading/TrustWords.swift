import Trust

extension TrustFailure {
  /// What is wrong with the document of a copy, for people.
  var words: String {
    switch self {
    case .rootForm: "it isn't the envelope of a root"
    case .rootApp: "the root is of another app or environment"
    case .rootNumber: "the root has another number than its name says"
    case .rootOldKeys: "too few keys of the root before have signed this root"
    case .rootNewKeys: "too few of its own keys have signed this root"
    case .rootMissing: "it names a root that the copy doesn't have"
    case .headForm: "it isn't the envelope of a head"
    case .headKey: "none of the root's head keys has signed the head"
    case .headPlace: "the head is of another app, environment or channel"
    case .headFell: "the head names a lower version than an older head"
    case .headMissing: "it has no head"
    case .headOld: "its head is older than head.json, which names another manifest"
    case .headManifest: "the head names another manifest"
    case .entryBundle: "an entry doesn't name its bundle"
    case .releaseForm: "a statement isn't the envelope of one"
    case .releaseTwice: "there are two statements for a bundle"
    case .releaseMissing: "there is no statement for a bundle"
    case .releasePlace: "the statement for a bundle is of another app, environment or channel"
    case .releaseContent: "a bundle has other content than was signed"
    case .releaseKey: "too few keys that may sign releases have signed a bundle"
    case .releaseScope:
      "the keys that have signed a bundle may not sign it, in this channel or with these URLs"
    case .releaseFloor: "the statement for a bundle is older than the root allows"
    case .policyOld: "the policy is older than the one that the head names"
    case .prefetchMissing: "the prefetch config has no statement"
    case .prefetchForm: "the statement of the prefetch config isn't the envelope of one"
    case .prefetchPlace: "the statement of the prefetch config is of another app, environment or channel"
    case .prefetchContent: "the prefetch config isn't the one that was signed"
    case .prefetchKey: "no key that may sign prefetch configs has signed this one"
    case .prefetchFloor: "the statement of the prefetch config is older than is allowed"
    case .prefetchOld: "the prefetch config is older than the one that the head names"
    }
  }
}
