import Manifests

extension CollectionReport.Channel {
  /// What the audit trail says of the versions that a garbage collection dropped; nil where it dropped none.
  func act(_ policy: KeepPolicy) -> AuditAct? {
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
  func act(_ policy: KeepPolicy) -> AuditAct? {
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

extension KeepPolicy {
  fileprivate var act: JSONValue { ["keepDays": .integer(days), "keepVersions": .integer(versions)] }
}
