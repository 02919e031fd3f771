import Manifests

// In the place of what ChannelInfo has of it.
extension ChannelInfo {
  /// The version from which on entries name their bundles; nil if none does.
  package var bundlesSince: ManifestVersion? { nil }

  /// Whether entries name their bundle in only one of two versions.
  package func crossesRebase(from base: ManifestVersion, to version: ManifestVersion) -> Bool { false }
}
