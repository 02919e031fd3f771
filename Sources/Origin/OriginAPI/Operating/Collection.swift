import Manifests
import System

/// `POST /gc`: what to keep, and whether to remove anything.
package struct GCRequest: Codable, Sendable {
  /// Only report what would be removed.
  package var dryRun: Bool?
  /// For how many days a version is kept after devices last used it.
  package var keepDays: Int?
  /// How many of each channel's newest versions are kept.
  package var keepVersions: Int?

  package init(dryRun: Bool, keepDays: Int, keepVersions: Int) {
    self.dryRun = dryRun
    self.keepDays = keepDays
    self.keepVersions = keepVersions
  }
}

/// What a garbage collection removed and kept, or, for a dry run, would have.
package struct GCReport: Codable, Sendable {
  package let dryRun: Bool
  package let channels: [Channel]
  package let freedBytes: Int64
  package let blobs: FileTotal
  /// Files that no row named.
  package let orphans: FileTotal
  /// Coded bodies, deltas and zips.
  package let derived: FileTotal
  package let temporary: FileTotal
  /// Versions of prefetch configs and policies; nil: none, or an older origin.
  package let documents: Int?
  /// Scripts that only they named; nil: none, or an older origin.
  package let scripts: FileTotal?
  /// Rows of the manifests' history.
  package let entries: Int
  package let resources: Int
  package let urls: Int
  /// Files that nothing names but that a publisher at work relies on.
  package let promised: Int
  /// Lease holders who began to read in the meantime, which ended the round early.
  package let stoppedFor: [String]
  /// The longest time that a publisher would have had to wait.
  package let longestWriteMilliseconds: Int64

  package init(
    dryRun: Bool, channels: [Channel], freedBytes: Int64, blobs: FileTotal, orphans: FileTotal,
    derived: FileTotal,
    temporary: FileTotal, documents: Int?, scripts: FileTotal?, entries: Int, resources: Int, urls: Int,
    promised: Int, stoppedFor: [String],
    longestWriteMilliseconds: Int64
  ) {
    self.dryRun = dryRun
    self.channels = channels
    self.freedBytes = freedBytes
    self.blobs = blobs
    self.orphans = orphans
    self.derived = derived
    self.temporary = temporary
    self.documents = documents
    self.scripts = scripts
    self.entries = entries
    self.resources = resources
    self.urls = urls
    self.promised = promised
    self.stoppedFor = stoppedFor
    self.longestWriteMilliseconds = longestWriteMilliseconds
  }

  /// What happened to a channel's versions.
  package struct Channel: Codable, Sendable {
    package let app: AppName
    package let channel: ChannelName
    /// Versions whose manifests can no longer be reconstructed.
    package let dropped: [ManifestVersion]
    package let kept: [Kept]

    package init(app: AppName, channel: ChannelName, dropped: [ManifestVersion], kept: [Kept]) {
      self.app = app
      self.channel = channel
      self.dropped = dropped
      self.kept = kept
    }
  }

  /// A version that is kept.
  package struct Kept: Codable, Sendable {
    package let version: ManifestVersion
    package let reasons: [Reason]

    package init(version: ManifestVersion, reasons: [Reason]) {
      self.version = version
      self.reasons = reasons
    }
  }

  /// Why a version is kept.
  package struct Reason: Codable, Hashable, Sendable {
    /// `live`, `recent`, `reported`, `pinned`, `mirrored`, `lastNumber`, or a reason that only a newer origin knows.
    package let why: String
    /// For `reported`: the number of polls, in how many hours, and the last of those hours.
    package var polls: Int64?
    package var hours: Int?
    package var last: Moment?
    /// For `pinned`.
    package var author: String?
    package var reason: String?
    /// For `mirrored`.
    package var mirror: String?

    package init(
      _ why: String, polls: Int64? = nil, hours: Int? = nil, last: Moment? = nil, author: String? = nil,
      reason: String? = nil, mirror: String? = nil
    ) {
      self.why = why
      self.polls = polls
      self.hours = hours
      self.last = last
      self.author = author
      self.reason = reason
      self.mirror = mirror
    }
  }
}
