import Manifests
import System

/// `GET /search?q=…&limit=…`: what has some text in it, of what the caller may read; newest first.
///
/// The text is found anywhere in a name, whether its ASCII letters are capital or small.
package struct SearchAnswer: Codable, Sendable {
  /// By their version, message or author.
  package var releases: [Release] = []
  /// By their URL.
  package var files: [File] = []
  /// Who made releases, by their name.
  package var people: [Person] = []
  /// What was changed beside releases, by its message or author.
  package var changes: [Change] = []
  /// True if there is more than this: a list is full, or not all was looked at in the time for it.
  package var isCut = false

  package init() {}

  /// A release.
  package struct Release: Codable, Hashable, Sendable {
    package let app: AppName
    package let channel: ChannelName
    package let version: ManifestVersion
    package let at: Moment
    package let author: String
    package let message: String
    /// As `kind` in the log.
    package let kind: String

    package init(
      app: AppName, channel: ChannelName, version: ManifestVersion, at: Moment, author: String,
      message: String, kind: String
    ) {
      self.app = app
      self.channel = channel
      self.version = version
      self.at = at
      self.author = author
      self.message = message
      self.kind = kind
    }
  }

  /// A URL of a manifest.
  package struct File: Codable, Hashable, Sendable {
    package let app: AppName
    package let channel: ChannelName
    /// The newest version that has it.
    package let version: ManifestVersion
    package let url: String

    package init(app: AppName, channel: ChannelName, version: ManifestVersion, url: String) {
      self.app = app
      self.channel = channel
      self.version = version
      self.url = url
    }
  }

  /// Somebody who made releases.
  package struct Person: Codable, Hashable, Sendable {
    package let name: String
    /// When the last of them was made.
    package let lastAt: Moment
    /// How many there are, in the channels that the caller may read.
    package let releases: Int64

    package init(name: String, lastAt: Moment, releases: Int64) {
      self.name = name
      self.lastAt = lastAt
      self.releases = releases
    }
  }

  /// A change of a channel's documents.
  package struct Change: Codable, Hashable, Sendable {
    package let app: AppName
    package let channel: ChannelName
    /// `policy`, `prefetch`, or a kind that only a newer origin knows.
    package let kind: String
    /// The document's version.
    @OrNull package var version: ManifestVersion?
    package let at: Moment
    package let author: String
    package let message: String

    package init(
      app: AppName, channel: ChannelName, kind: String, version: ManifestVersion?, at: Moment, author: String,
      message: String
    ) {
      self.app = app
      self.channel = channel
      self.kind = kind
      self.at = at
      self.author = author
      self.message = message
      self.version = version
    }
  }
}
