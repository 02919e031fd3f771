import Manifests
import OriginAPI

extension OriginClient {
  // MARK: - Prefetch config

  /// Returns a version of the prefetch config: a number, or a time at which it was live; nil means the newest.
  package func prefetch(of channel: ChannelAddress, version: String? = nil) throws(OriginError)
    -> OriginAnswer<DocumentAnswer>
  {
    try get("\(channel.path)/prefetch\(Self.query(version))")
  }

  /// Makes a config the newest version.
  package func pushPrefetch(_ request: PrefetchPushRequest, to channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<DocumentChangeAnswer>
  {
    try send(OriginCall("POST", "\(channel.path)/prefetch", request))
  }

  /// Restores the content of an earlier version.
  package func rollBackPrefetch(_ request: PrefetchRollbackRequest, in channel: ChannelAddress)
    throws(OriginError) -> OriginAnswer<DocumentChangeAnswer>
  {
    try send(OriginCall("POST", "\(channel.path)/prefetch/rollback", request))
  }

  // MARK: - Policy

  /// Returns a version of the policy, named as for `prefetch`.
  package func policy(of channel: ChannelAddress, version: String? = nil) throws(OriginError)
    -> OriginAnswer<DocumentAnswer>
  {
    try get("\(channel.path)/policy\(Self.query(version))")
  }

  /// Makes one change to the policy.
  package func changePolicy(_ request: PolicyRequest, of channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<DocumentChangeAnswer>
  {
    try send(OriginCall("POST", "\(channel.path)/policy", request))
  }

  // MARK: - Both, and the settings

  /// Returns the versions of a document, `prefetch` or `policy`, newest first.
  package func versions(of document: String, in channel: ChannelAddress, limit: Int) throws(OriginError)
    -> OriginAnswer<DocumentVersions>
  {
    try get("\(channel.path)/\(document)/log?limit=\(limit)")
  }

  /// Changes a channel's settings.
  package func change(_ request: ChannelSettingsRequest, of channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<ChannelSettings>
  {
    try send(OriginCall("POST", "\(channel.path)/settings", request))
  }

  private static func query(_ version: String?) -> String {
    version.map { "?version=\(OriginCall.escaped($0))" } ?? ""
  }
}
