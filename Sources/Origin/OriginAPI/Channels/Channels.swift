import Manifests
import System
import Values

/// A one-line summary of a channel and what is live in it.
package struct ChannelSummary: Codable, Sendable {
  package let app: AppName
  package let channel: ChannelName
  /// The newest release, or 0 if there is none yet.
  package let version: ManifestVersion
  @OrNull package var at: Moment?
  package let resources: Int64
  package let bytes: Int64
  /// The base URL from which devices download.
  package let publicURL: BaseURL
  /// Nil if the channel takes releases.
  @OrNull package var freeze: ChannelFreeze?
  /// The hosts whose URLs a release may name; nil means all.
  @OrNull package var hosts: [String]?
  /// The freezes by calendar that aren't over, in the order of their beginnings; absent if there are none.
  package var plannedFreezes: [ChannelFreeze]?

  package init(
    app: AppName, channel: ChannelName, version: ManifestVersion, at: Moment?, resources: Int, bytes: Int64,
    publicURL: BaseURL, freeze: ChannelFreeze?, hosts: [String]? = nil
  ) {
    self.app = app
    self.channel = channel
    self.version = version
    self.resources = Int64(resources)
    self.bytes = bytes
    self.publicURL = publicURL
    self.at = at
    self.freeze = freeze
    self.hosts = hosts
  }
}

/// `GET /apps`: the channels that the token may read.
package struct ChannelList: Codable, Sendable {
  package let channels: [ChannelSummary]
  /// The app that answers polls that name none; nil if there is none, or the token may not know of it.
  @OrNull package var defaultApp: AppName?

  package init(channels: [ChannelSummary], defaultApp: AppName?) {
    self.channels = channels
    self.defaultApp = defaultApp
  }
}

// MARK: - Acts

/// A request without members: its path says everything.
package struct EmptyRequest: Codable, Sendable {
  private enum CodingKeys: CodingKey {}

  package init() {}

  // A synthesized initializer would not check for unknown members.
  package init(from decoder: any Decoder) throws { _ = try decoder.container(keyedBy: CodingKeys.self) }
}

/// `POST …/create`.
package struct ChannelRequest: Codable, Sendable {
  /// The base URL from which devices download; nil means the same as for other new channels.
  package var publicURL: String?

  package init(publicURL: BaseURL?) { self.publicURL = publicURL?.text }
}

/// `POST …/remove`: the channel as it was before.
package struct ChannelRemovalAnswer: Codable, Sendable {
  package let channel: ChannelSummary
  /// Whether polls that name no app are no longer answered.
  package let leavesNoDefault: Bool

  package init(_ channel: ChannelSummary, leavesNoDefault: Bool) {
    self.channel = channel
    self.leavesNoDefault = leavesNoDefault
  }

  private enum CodingKeys: CodingKey { case leavesNoDefault }

  package init(from decoder: any Decoder) throws {
    channel = try ChannelSummary(from: decoder)
    leavesNoDefault = try decoder.container(keyedBy: CodingKeys.self)
      .decode(Bool.self, forKey: .leavesNoDefault)
  }

  package func encode(to encoder: any Encoder) throws {
    try channel.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(leavesNoDefault, forKey: .leavesNoDefault)
  }
}

/// `POST …/freeze`.
package struct FreezeRequest: Codable, Sendable {
  /// Shown to those whose releases it stops.
  package var reason: String?
  /// When it is to begin; nil: now.
  package var from: Moment?
  /// When it is to end by itself; nil: when the channel is thawed.
  package var to: Moment?

  package init(reason: String) { self.reason = reason }
}

/// `POST …/thaw`.
package struct ThawRequest: Codable, Sendable {
  /// The id of the one freeze by calendar that is taken back; nil: those that hold now are lifted.
  package var planned: Int64?

  package init(planned: Int64? = nil) { self.planned = planned }
}

/// The answer to a freeze.
package struct FreezeAnswer: Codable, Sendable {
  /// Always true.
  package let changed: Bool
  package let freeze: ChannelFreeze
  /// The freeze that this one replaces; nil if the channel wasn't frozen, or from an older origin.
  package var replaced: ChannelFreeze?

  package init(freeze: ChannelFreeze, replaced: ChannelFreeze?) {
    changed = true
    self.freeze = freeze
    self.replaced = replaced
  }
}

/// `POST …/thaw`.
package struct ThawAnswer: Codable, Sendable {
  /// Whether the channel was frozen.
  package let changed: Bool
  /// The freeze that was lifted.
  @OrNull package var lifted: ChannelFreeze?
  /// The other freezes that were lifted; absent if there were none.
  package var others: [ChannelFreeze]?

  package init(lifted: [ChannelFreeze]) {
    changed = !lifted.isEmpty
    self.lifted = lifted.first
    others = lifted.count > 1 ? Array(lifted.dropFirst()) : nil
  }
}

/// `POST /default-app`: the app that is to answer polls that name none.
package struct DefaultAppRequest: Codable, Sendable {
  package var app: String?

  package init(app: AppName) { self.app = app.text }
}

/// The answer to a change of the default app.
package struct DefaultAppAnswer: Codable, Sendable {
  package let changed: Bool
  package let defaultApp: AppName
  /// The previous default app.
  @OrNull package var was: AppName?

  package init(defaultApp: AppName, was: AppName?) {
    changed = was != defaultApp
    self.defaultApp = defaultApp
    self.was = was
  }
}
