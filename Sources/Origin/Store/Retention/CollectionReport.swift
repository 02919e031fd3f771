import Manifests
import Values

/// What a garbage collection removed and kept, or, in a dry run, would.
package struct CollectionReport: Sendable {
  /// A channel's removed and kept versions.
  package struct Channel: Sendable {
    /// The channel's app.
    package let app: AppName
    /// The channel.
    package let name: ChannelName
    /// Versions whose manifests are no longer available.
    package let dropped: [ManifestVersion]
    /// Versions that were kept, oldest first.
    package let kept: [RetainedVersion]
  }

  /// The channels that have a release.
  package internal(set) var channels: [Channel] = []
  /// Removed rows of manifest history.
  package internal(set) var entries = 0
  /// Removed rows of resources.
  package internal(set) var resources = 0
  /// Removed rows of URLs.
  package internal(set) var urls = 0
  /// Removed versions of prefetch configs and policies.
  package internal(set) var documents = 0
  /// Removed scripts that no policy names.
  package internal(set) var scripts = FileTotal()
  /// Removed blobs that no version names.
  package internal(set) var blobs = FileTotal()
  /// Removed files under `blobs/` that no row named.
  package internal(set) var orphans = FileTotal()
  /// Removed compressed bodies, deltas, zips and packs.
  package internal(set) var derived = FileTotal()
  /// Removed files that arrived and that no release used, and files from quarantine.
  package internal(set) var temporary = FileTotal()
  /// Blobs that nothing names, but that a publisher at work depends on.
  package internal(set) var promised = 0
  /// Those who began to read meanwhile, which ended the round early.
  package internal(set) var stoppedFor: [String] = []

  /// The longest time that a publisher would have had to wait for a transaction of the round, in nanoseconds.
  package internal(set) var longestWrite: Int64 = 0

  /// The bytes of all removed files.
  package var freedBytes: Int64 { blobs.bytes + orphans.bytes + derived.bytes + temporary.bytes }
}

extension CollectionReport.Channel {
  /// The audit trail's record of the versions that a garbage collection removed; nil if it removed none.
  func act(_ policy: RetentionPolicy) -> AuditEvent? {
    if dropped.isEmpty { return nil }
    return AuditEvent(
      "gc", app: app, channel: name, parameters: policy.act,
      result: ["dropped": .string(Self.ranges(dropped)), "kept": .integer(kept.count)])
  }

  /// Versions as text, such as `1-40 42`.
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
  /// The audit trail's record of the files that were removed; nil if none were.
  func act(_ policy: RetentionPolicy) -> AuditEvent? {
    let files = [blobs, orphans, derived, temporary, scripts]
    guard documents > 0 || files.contains(where: { $0.count > 0 }) else { return nil }
    var result = JSONObject()
    result["blobs"] = .integer(blobs.count)
    result["derived"] = .integer(derived.count)
    result["freedBytes"] = .integer(freedBytes)
    result["orphans"] = .integer(orphans.count)
    result["temporary"] = .integer(temporary.count)
    if documents > 0 { result["documents"] = .integer(documents) }
    if scripts.count > 0 { result["scripts"] = .integer(scripts.count) }
    return AuditEvent("gc.files", parameters: policy.act, result: .object(result))
  }
}

extension RetentionPolicy {
  fileprivate var act: JSONValue { ["keepDays": .integer(days), "keepVersions": .integer(versions)] }
}
