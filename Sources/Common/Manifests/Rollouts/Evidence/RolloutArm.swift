/// The two parts of a fleet whose failures a rollout compares (docs/evidence.md).
///
/// They have the same size while `share` is at most half of all buckets; above, control is what is left.
package enum RolloutArm: String, Hashable, Sendable, CaseIterable {
  /// The devices that a rollout lets in by their bucket.
  case candidate
  /// As many others, or those that are left.
  case control

  /// The arm of a bucket in a rollout that lets in `share` of `RolloutRule.all`; nil if it is in neither.
  package init?(bucket: Int, share: Int) {
    if bucket < share {
      self = .candidate
    } else if bucket >= RolloutRule.all - min(share, RolloutRule.all - share) {
      self = .control
    } else {
      return nil
    }
  }
}
