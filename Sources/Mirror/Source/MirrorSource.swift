import Manifests
import Store
import System

/// A channel as it is to be mirrored: one version, which doesn't change while the run lasts.
package struct MirroredChannelState: Hashable, Sendable {
  package let app: AppName
  package let appID: Int64
  package let channel: ChannelName
  package let publicURL: BaseURL
  package let version: ManifestVersion
  package let digest: SHA256
  /// The versions that the mirror keeps, oldest first; the last is `version`.
  package let versions: [ManifestVersion]
  package let extras: AnswerExtras
  /// That the policy names.
  package let scripts: [SHA256]

  package var name: MirroredChannel { MirroredChannel(app, channel) }
  /// `xcache/shop`, where the channel's documents are.
  package var folder: String { name.folder }
}

/// What an origin is called, and the app that answers polls which name none.
package struct OriginState: Hashable, Sendable {
  package let id: String
  package let defaultApp: AppName?
  /// The newest row of its audit trail; nil where it doesn't tell.
  package let audit: AuditHead?
  /// What may be read of it; what is outside is no less there.
  package let readable: ChannelSelection
}

/// A file of this machine that has a resource's bytes.
package struct LocalFile: Sendable {
  package let path: String
  /// Whether it was made for the caller, who may move or remove it.
  package let isTemporary: Bool
}

/// Where a mirror's contents come from: a data folder or a running origin.
package protocol MirrorSource: Sendable {
  func origin() throws(MirrorError) -> OriginState
  /// Every channel with a release that may be read, with the `keep` versions before the newest.
  func channels(keep: Int) throws(MirrorError) -> [MirroredChannelState]
  /// Every resource that a kept version names, each once.
  func resources(of channel: MirroredChannelState) throws(MirrorError) -> [MirroredResource]
  func document(_ document: MirrorDocument, of channel: MirroredChannelState) throws(MirrorError) -> [UInt8]
  /// A file with the resource's bytes; one that is made for this is made at `path`. They aren't checked yet.
  func file(of resource: MirroredResource, at path: String) throws(MirrorError) -> LocalFile
  /// The same of a delta that a patch names.
  func file(of delta: DeltaPath, at path: String) throws(MirrorError) -> LocalFile
  /// The same of a pack that an update names.
  func file(of pack: PackPath, _ channel: MirroredChannelState, at path: String) throws(MirrorError)
    -> LocalFile

  /// Whether a zip can be had now; one of an update waits until the deltas are made that belong into it.
  func has(_ zip: BundleZip, of channel: MirroredChannelState) throws(MirrorError) -> Bool
  /// A zip that can be had.
  func file(of zip: BundleZip, _ channel: MirroredChannelState, at path: String) throws(MirrorError)
    -> LocalFile

  /// Sees to it that nothing is removed at the origin for `seconds` from now.
  func hold(_ seconds: Int) throws(MirrorError)
  /// Lets go.
  func release()
  /// Tells the origin what the mirror names.
  func register(_ name: String, _ versions: [MirroredVersion]) throws(MirrorError)
}
