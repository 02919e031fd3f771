import Manifests

/// What a device does with what it was given.
package struct TrustVerdict: Sendable {
  /// The first check that failed; nil if all of the offer may be taken.
  package let failure: TrustFailure?
  /// What to store at once. After a failure only roots are other than before.
  package let state: TrustState
  /// What to store with the switch to the offered manifest (`TrustState.take`); nil without one, or after a failure.
  package let releases: [BundleName: TrustState.Release]?
  /// Whether the offered manifest is the candidate of the head.
  package let isCandidate: Bool
  /// Whether the newest head has expired. It is worth a report (`trust-stale`), and changes nothing else.
  package let isStale: Bool

  /// Whether all of the offer may be taken.
  package var isGood: Bool { failure == nil }
}
