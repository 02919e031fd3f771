import System

/// Identifies a release, with its author and time.
package struct ReleaseStamp: Hashable, Sendable {
  /// The version that it made.
  package let version: ManifestVersion
  /// The author.
  package let author: String
  /// When it was made.
  package let at: Moment

  package init(version: ManifestVersion, author: String, at: Moment) {
    self.version = version
    self.author = author
    self.at = at
  }
}

/// How many URLs were added, changed and removed.
package struct ChangeCounts: Hashable, Sendable {
  /// URLs that are new.
  package var added: Int
  /// URLs that have other bytes, another type, other headers or other fallbacks, or are lazy on one side only.
  package var changed: Int
  /// URLs that are gone.
  package var removed: Int

  /// Whether no URL was added, changed or removed.
  package var isEmpty: Bool { added == 0 && changed == 0 && removed == 0 }

  /// Creates counts.
  package init(added: Int = 0, changed: Int = 0, removed: Int = 0) {
    self.added = added
    self.changed = changed
    self.removed = removed
  }
}

/// What the log says about a release besides its numbers.
package struct ReleaseDetails: Hashable, Sendable {
  /// The source of its content.
  package struct Source: Hashable, Sendable {
    /// The channel that had the content.
    package let channel: ChannelName
    /// The version that had the content.
    package let version: ManifestVersion
    /// The bundle whose content it is; nil: the whole channel's.
    package let bundle: BundleName?

    package init(channel: ChannelName, version: ManifestVersion, bundle: BundleName?) {
      self.channel = channel
      self.version = version
      self.bundle = bundle
    }
  }

  /// The source of a rollback or promotion.
  package let source: Source?
  /// The override of a freeze; nil if the channel wasn't frozen.
  package let emergencyOverride: EmergencyOverride?

  /// An override of a freeze.
  package struct EmergencyOverride: Hashable, Sendable {
    /// The reason for releasing in spite of the freeze.
    package let reason: String
    /// Who had frozen the channel.
    package let frozenBy: String

    package init(reason: String, frozenBy: String) {
      self.reason = reason
      self.frozenBy = frozenBy
    }
  }

  package init(source: Source?, emergencyOverride: EmergencyOverride?) {
    self.source = source
    self.emergencyOverride = emergencyOverride
  }
}

/// What happened to a prefetch config that a rollback or promotion was to carry over or, for a dry run, would happen.
package struct PrefetchOutcome: Hashable, Sendable {
  /// Whether the config changed; false if it was the same already, or the live one is kept.
  package let changed: Bool
  /// The channel's newest version of the config afterwards; 0 if there is none.
  package let version: ManifestVersion
  /// The version at the source that had the content; 0 if there was none.
  package let source: ManifestVersion
  /// Whether the live config stays because the source has none.
  package let isKept: Bool

  package init(changed: Bool, version: ManifestVersion, source: ManifestVersion, isKept: Bool = false) {
    self.changed = changed
    self.version = version
    self.source = source
    self.isKept = isKept
  }
}
