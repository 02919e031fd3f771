import Manifests

/// What a garbage collection dropped and what it left, or, of a dry run, would.
package struct CollectionReport: Sendable {
  /// What became of a channel's versions.
  package struct Channel: Sendable {
    /// The channel's app.
    package let app: AppName
    /// The channel.
    package let name: ChannelName
    /// Versions whose manifests can't be told any more.
    package let dropped: [ManifestVersion]
    /// Those that stay, oldest first.
    package let kept: [RetainedVersion]
  }

  /// Files and their bytes.
  package struct Files: Hashable, Sendable {
    /// How many.
    package internal(set) var count = 0
    /// All together.
    package internal(set) var bytes: Int64 = 0

    mutating func add(_ size: Int64) {
      count += 1
      bytes += size
    }
  }

  /// Those that have a release.
  package internal(set) var channels: [Channel] = []
  /// Rows of manifests' history.
  package internal(set) var entries = 0
  /// Rows of URLs with their bytes.
  package internal(set) var resources = 0
  /// Rows of URLs.
  package internal(set) var urls = 0
  /// Resources' bytes that no version names.
  package internal(set) var blobs = Files()
  /// Files under `blobs/` that no row named.
  package internal(set) var orphans = Files()
  /// Coded bodies, deltas and zips.
  package internal(set) var derived = Files()
  /// What arrived and no release took, and what was set aside.
  package internal(set) var temporary = Files()
  /// Blobs that nothing names, but that a publisher who is at work counts on.
  package internal(set) var promised = 0
  /// Who began to read in the middle, which ended the round early.
  package internal(set) var stoppedFor: [String] = []

  /// The longest time for which a publisher would have had to wait for one of its transactions, in nanoseconds.
  package internal(set) var longestWrite: Int64 = 0

  /// Bytes of all files that went.
  package var freedBytes: Int64 { blobs.bytes + orphans.bytes + derived.bytes + temporary.bytes }
}

extension CollectionReport.Channel {
  /// What the audit trail says of the versions that a garbage collection dropped; nil where it dropped none.
  func act(_ policy: RetentionPolicy) -> AuditAct? {
    if dropped.isEmpty { return nil }
    return AuditAct(
      "gc", app: app, channel: name, parameters: policy.act,
      result: ["dropped": .string(Self.ranges(dropped)), "kept": .integer(kept.count)])
  }

  /// `1-40 42`.
  private static func ranges(_ versions: [ManifestVersion]) -> String {
    var ranges: [(first: Int64, last: Int64)] = []
    for version in versions.map(\.number).sorted() {
      if let last = ranges.last, last.last + 1 == version {
        ranges[ranges.count - 1].last = version
      } else {
        ranges.append((version, version))
      }
    }
    return ranges.map { $0.first == $0.last ? "\($0.first)" : "\($0.first)-\($0.last)" }.joined(
      separator: " ")
  }
}

extension CollectionReport {
  /// What the audit trail says of the files that it removed; nil where it removed none.
  func act(_ policy: RetentionPolicy) -> AuditAct? {
    let files = [blobs, orphans, derived, temporary]
    guard files.contains(where: { $0.count > 0 }) else { return nil }
    return AuditAct(
      "gc.files", parameters: policy.act,
      result: [
        "blobs": .integer(blobs.count), "derived": .integer(derived.count),
        "freedBytes": .integer(freedBytes),
        "orphans": .integer(orphans.count), "temporary": .integer(temporary.count),
      ])
  }
}

extension RetentionPolicy {
  fileprivate var act: JSONValue { ["keepDays": .integer(days), "keepVersions": .integer(versions)] }
}
