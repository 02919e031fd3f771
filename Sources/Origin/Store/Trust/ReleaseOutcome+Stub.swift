// A stub until H1's ReleaseOutcome is merged, which has this as a stored property: delete this file then.

extension ReleaseOutcome {
  /// In a channel with a root, the bundles that it changed, ordered by name, and their statements; in a dry run, also those that
  /// devices would refuse.
  package var trust: [BundleTrust] { [] }
}
