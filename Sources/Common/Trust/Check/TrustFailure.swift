/// Why a device doesn't take what it was given: the first of its checks that failed. Raw values are docs/protocol.md §14's
/// names, in the order in which a device checks.
package enum TrustFailure: String, Error, Hashable, CaseIterable, Sendable {
  /// The next root isn't an envelope with a root.
  case rootForm = "root-form"
  /// It is of another app or environment.
  case rootApp = "root-app"
  /// It isn't the one that follows.
  case rootNumber = "root-number"
  /// Too few keys of the root in force have signed it.
  case rootOldKeys = "root-old-keys"
  /// Too few of its own keys have signed it.
  case rootNewKeys = "root-new-keys"
  /// There is a higher root than those that came.
  case rootMissing = "root-missing"

  /// The head isn't an envelope with a head.
  case headForm = "head-form"
  /// No head key has signed it.
  case headKey = "head-key"
  /// It is of another app, environment or channel.
  case headPlace = "head-place"
  /// It is newer than the one held, and names a lower version of manifest, policy or prefetch config.
  case headFell = "head-fell"
  /// There is no head, neither here nor held.
  case headMissing = "head-missing"
  /// The head is older than the one held, which names another manifest.
  case headOld = "head-old"
  /// The manifest is neither the head's full version nor its candidate.
  case headManifest = "head-manifest"

  /// An entry doesn't say its bundle.
  case entryBundle = "entry-bundle"

  /// A release statement isn't an envelope with one.
  case releaseForm = "release-form"
  /// Two release statements are of one bundle.
  case releaseTwice = "release-twice"
  /// A bundle has no release statement, neither here nor held.
  case releaseMissing = "release-missing"
  /// The statement is of another app, environment or channel.
  case releasePlace = "release-place"
  /// The bundle's content isn't the one that was signed.
  case releaseContent = "release-content"
  /// Too few keys that sign releases have signed it.
  case releaseKey = "release-key"
  /// Those that have signed it may not sign this bundle, channel, or one of the URLs or of the fallbacks' prefixes.
  case releaseScope = "release-scope"
  /// The statement's serial is below the bundle's floor.
  case releaseFloor = "release-floor"

  /// The policy is older than the one that the head names.
  case policyOld = "policy-old"

  /// The prefetch config has no statement.
  case prefetchMissing = "prefetch-missing"
  /// Its statement isn't an envelope with one.
  case prefetchForm = "prefetch-form"
  /// The statement is of another app, environment or channel.
  case prefetchPlace = "prefetch-place"
  /// The config isn't the one that was signed.
  case prefetchContent = "prefetch-content"
  /// No key that signs prefetch configs has signed the statement.
  case prefetchKey = "prefetch-key"
  /// The statement's serial is below the floor.
  case prefetchFloor = "prefetch-floor"
  /// The config is older than the one that the head names.
  case prefetchOld = "prefetch-old"
}

/// The parts of the check, in their order. A device reports a failure by its step.
package enum TrustStep: String, Hashable, CaseIterable, Sendable {
  case root, head, entry, content, scope, floor, policy, prefetch
}

extension TrustFailure {
  /// The step that failed.
  package var step: TrustStep {
    switch self {
    case .rootForm, .rootApp, .rootNumber, .rootOldKeys, .rootNewKeys, .rootMissing: .root
    case .headForm, .headKey, .headPlace, .headFell, .headMissing, .headOld, .headManifest: .head
    case .entryBundle: .entry
    case .releaseForm, .releaseTwice, .releaseMissing, .releasePlace, .releaseContent: .content
    case .releaseKey, .releaseScope: .scope
    case .releaseFloor: .floor
    case .policyOld: .policy
    case .prefetchMissing, .prefetchForm, .prefetchPlace, .prefetchContent, .prefetchKey, .prefetchFloor,
      .prefetchOld:
      .prefetch
    }
  }

  /// The reason that a device reports (docs/protocol.md §12): `trust-` and the step.
  package var reason: String { "trust-" + step.rawValue }

  /// Whether the whole manifest, which comes with every statement, may pass where a patch or a pack did not.
  package var isWorthAskingForAll: Bool {
    switch step {
    case .entry, .content, .scope, .floor: true
    case .root, .head, .policy, .prefetch: false
    }
  }
}
