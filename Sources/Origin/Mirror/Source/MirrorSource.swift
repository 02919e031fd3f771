import Manifests
import Store
import System
import Values

/// The state of a channel to be mirrored: one version, and the candidate if a rollout is open, fixed for the whole run.
package struct MirroredChannelState: Hashable, Sendable {
  package let app: AppName
  package let appID: Int64
  package let channel: ChannelName
  package let publicURL: BaseURL
  package let version: ManifestVersion
  package let digest: SHA256
  /// The versions that the mirror keeps, oldest first, ending with `version`.
  package var versions: [ManifestVersion]
  package let extras: AnswerExtras
  /// The scripts that the policy names.
  package let scripts: [SHA256]
  /// The digest of the candidate's resourcemap; nil if no rollout is open.
  package var candidateDigest: SHA256?
  /// The version from which on entries name their bundles; nil in a channel without a root.
  package var bundlesSince: ManifestVersion?
  /// `head.json`, as it was when the run began; nil if there is none.
  package var head: [UInt8]?
  /// The first pack that `configure.json` names; nil if there is none.
  package var first: PackOffer?

  /// The candidate that the rule in `extras` names.
  package var candidate: ManifestVersion? { candidateDigest == nil ? nil : extras.rollout?.version }
  /// The highest version that the mirror has.
  package var highest: ManifestVersion { candidate ?? version }
  /// The steps that have a patch: from each kept version to the newest, and to the candidate. None leads from entries that don't
  /// name their bundles to such that do.
  package var steps: [(from: ManifestVersion, to: ManifestVersion)] {
    let all =
      versions.dropLast().map { ($0, version) } + (candidate.map { to in versions.map { ($0, to) } } ?? [])
    guard let since = bundlesSince else { return all }
    return all.filter { $0.0 >= since || $0.1 < since }
  }

  package var name: MirroredChannel { MirroredChannel(app, channel) }
  /// The folder of the channel's documents, such as `xcache/shop`.
  package var folder: String { name.folder }
}

/// The identity of an origin, and the app for polls that name none.
package struct OriginState: Hashable, Sendable {
  package let id: String
  package let defaultApp: AppName?
  /// The newest row of the audit trail; nil if the origin doesn't tell.
  package let audit: AuditHead?
  /// What may be read; the origin may have more.
  package let readable: ChannelSelection
  /// What was purged: a copy removes it, and everything that was made of it.
  package var purges: [PurgedBytes] = []
}

/// A local file with a resource's bytes.
package struct LocalFile: Sendable {
  package let path: String
  /// Whether it was created for the caller, who may move or remove it.
  package let isTemporary: Bool
}

/// The source of a mirror's contents: a data folder or a running origin.
package protocol MirrorSource: Sendable {
  func origin() throws(MirrorError) -> OriginState
  /// Returns every channel with a release that may be read, with the `keep` versions before the newest.
  func channels(keep: Int) throws(MirrorError) -> [MirroredChannelState]
  /// Returns every resource that a kept version names, each once.
  func resources(of channel: MirroredChannelState) throws(MirrorError) -> [MirroredResource]
  func document(_ document: MirrorDocument, of channel: MirroredChannelState) throws(MirrorError) -> [UInt8]
  /// Returns a file with the resource's bytes, which aren't verified yet; a temporary one is created at `path`.
  func file(of resource: MirroredResource, at path: String) throws(MirrorError) -> LocalFile
  /// As above, for a delta that a patch names.
  func file(of delta: DeltaPath, at path: String) throws(MirrorError) -> LocalFile
  /// As above, for a pack that an update or the newest manifest names.
  func file(of pack: PackPath, _ channel: MirroredChannelState, at path: String) throws(MirrorError)
    -> LocalFile

  /// Whether a zip is available now; one of an update isn't until its deltas are made.
  func has(_ zip: BundleZip, of channel: MirroredChannelState) throws(MirrorError) -> Bool
  /// As above, for a zip that is available.
  func file(of zip: BundleZip, _ channel: MirroredChannelState, at path: String) throws(MirrorError)
    -> LocalFile

  /// Keeps the origin from removing anything for `seconds` from now.
  func hold(_ seconds: Int) throws(MirrorError)
  /// Releases the lease.
  func release()
  /// Tells the origin which versions the mirror has.
  func register(_ name: String, _ versions: [ChannelVersion]) throws(MirrorError)
}
