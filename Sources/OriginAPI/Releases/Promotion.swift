import Manifests

/// `POST …/promote`: what another channel of the app holds, released here.
package struct PromotionRequest: ReleaseMembers {
  /// The channel whose content is promoted.
  package var from: String?
  /// Its version, a number, or a time at which it was live; nil: the newest.
  package var version: String?
  /// This bundle alone.
  package var bundle: String?
  package var map: [Rule]?
  /// Whether the prefetch config that goes with it is promoted, too.
  package var withPrefetch: Bool?
  package var message: String?
  package var ifVersion: String?
  package var breakGlass: String?
  package var now: Bool?
  package var dryRun: Bool?

  package init() {}

  /// URLs below `from` come to lie below `to`.
  package struct Rule: Codable, Sendable {
    package let from: String?
    package let to: String?

    package init(from: String, to: String) {
      self.from = from
      self.to = to
    }
  }
}

/// What a promotion did, or, of a dry run, would do.
package typealias PromotionAnswer = ReleaseAct<PromotionDetails>

/// What the answer to a promotion says beside the release.
package struct PromotionDetails: Codable, Sendable {
  package let from: ChannelName
  package let fromVersion: ManifestVersion
  /// Bundles that are still here though `from` holds nothing of them any more.
  package let left: [String]
  /// The URLs of files whose text contains a host that is rewritten.
  package let warnings: [String]
  /// Nil where none was to come along.
  @OrNull package var prefetch: PrefetchResult?

  package init(
    from: ChannelName, fromVersion: ManifestVersion, left: [String], warnings: [String],
    prefetch: PrefetchResult?
  ) {
    self.from = from
    self.fromVersion = fromVersion
    self.left = left
    self.warnings = warnings
    self.prefetch = prefetch
  }
}

extension OriginClient {
  /// - Parameter channel: where it is to be released.
  package func promote(_ request: PromotionRequest, to channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<PromotionAnswer>
  {
    var call = OriginCall("POST", "\(channel.path)/promote", request)
    call.timeouts.stall = OriginCall.releaseTimeout
    return try send(call)
  }
}
