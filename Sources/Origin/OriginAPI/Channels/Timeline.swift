import Manifests
import System

/// `GET …/timeline?limit=N&before=…`: what happened in a channel, newest first.
package struct ChannelTimeline: Codable, Sendable {
  package let items: [Item]
  /// `before` of the next page; nil if this is the last one. Only the origin knows what it means.
  @OrNull package var next: String?

  package init(items: [Item], next: String?) {
    self.items = items
    self.next = next
  }

  /// Something that happened.
  package struct Item: Codable, Sendable {
    /// `release`, `policy`, `prefetch`, `rollout`, `freeze`, `thaw`, `settings`, `protect`, `schedule`, or a kind that only a newer
    /// origin knows.
    package let kind: String
    package let at: Moment
    package let author: String
    /// What its author said about it; empty if nothing.
    package let message: String
    /// Of a release or a rollout: the channel's version; of a policy or prefetch config: its own.
    @OrNull package var version: ManifestVersion?
    /// One sentence of what was done.
    package let detail: String
    /// Of a release that is in the log: what the log says of it.
    @OrNull package var release: ReleaseInfo?

    package init(
      kind: String, at: Moment, author: String, message: String, version: ManifestVersion?, detail: String,
      release: ReleaseInfo? = nil
    ) {
      self.kind = kind
      self.at = at
      self.author = author
      self.message = message
      self.detail = detail
      self.version = version
      self.release = release
    }
  }
}
