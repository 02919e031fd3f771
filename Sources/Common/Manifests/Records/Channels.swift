import System

/// A version of a channel.
package struct ChannelVersion: Hashable, Sendable {
  /// The channel's app.
  package let app: AppName
  /// The channel.
  package let channel: ChannelName
  /// The version.
  package let version: ManifestVersion

  package init(app: AppName, channel: ChannelName, version: ManifestVersion) {
    self.app = app
    self.channel = channel
    self.version = version
  }
}

/// A version that is kept until someone unpins it.
package struct Pin: Hashable, Sendable {
  /// The pinned version.
  package let version: ManifestVersion
  /// Who pinned it.
  package let author: String
  /// Why it is pinned.
  package let reason: String
  /// When it was pinned.
  package let at: Moment

  package init(version: ManifestVersion, author: String, reason: String, at: Moment) {
    self.version = version
    self.author = author
    self.reason = reason
    self.at = at
  }
}

/// A freeze of a channel: who froze it, when and why.
package struct ChannelFreeze: Hashable, Sendable {
  /// The name of whoever froze it.
  package let author: String
  /// When that was.
  package let at: Moment
  /// Why there should be no release.
  package let reason: String
  /// When it begins and ends by itself; nil if it holds until the channel is thawed, whatever the time.
  package let calendar: Calendar?

  /// The times of a freeze by calendar.
  package struct Calendar: Hashable, Sendable {
    /// Names the freeze among all of the origin's.
    package let id: Int64
    /// The first moment.
    package let from: Moment
    /// The first moment after it; nil: it holds until it is lifted.
    package let to: Moment?

    package init(id: Int64, from: Moment, to: Moment?) {
      self.id = id
      self.from = from
      self.to = to
    }
  }

  package init(author: String, at: Moment, reason: String, calendar: Calendar? = nil) {
    self.author = author
    self.at = at
    self.reason = reason
    self.calendar = calendar
  }

  /// Since when it holds.
  package var since: Moment { calendar?.from ?? at }
}
