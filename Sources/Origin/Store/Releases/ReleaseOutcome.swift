import Manifests
import System
import Values

extension ChangeCounts {
  mutating func count(hadEntry: Bool, hasEntry: Bool) {
    switch (hadEntry, hasEntry) {
    case (false, true): added += 1
    case (true, true): changed += 1
    case (true, false): removed += 1
    case (false, false): break
    }
  }
}

/// A URL of a channel's manifest and its new entry; nil if it was removed.
package struct EntryChange: Hashable, Sendable {
  /// The URL.
  package let url: ResourceURL
  /// The new entry.
  package let entry: Entry?
  /// Whether the URL had an entry before.
  package let hadEntry: Bool
  /// What a patch has to remove from the old entry (`Entry.lost`); usually nothing.
  package let lost: JSONObject

  /// - Parameters:
  ///   - url: the URL.
  ///   - entry: the new entry; nil if it was removed.
  ///   - old: the content of the old entry; nil if there was none.
  init(url: ResourceURL, entry: Entry?, old: ResourceContent?) {
    self.url = url
    self.entry = entry
    hadEntry = old != nil
    if let entry, let others = old?.others, !others.isEmpty {
      lost = entry.lost(since: others)
    } else {
      lost = JSONObject()
    }
  }

  /// The URL's value in a patch (RFC 7396).
  package var patch: JSONValue { entry?.patch(lost: lost) ?? .null }
}

/// A planned release whose digest is wanted before it is committed.
package struct PreparedRelease: Sendable {
  /// The channel before the release.
  package let channel: ChannelInfo
  /// The version that the release will have.
  package let version: ManifestVersion
  /// Milliseconds since 1970.
  package let at: Int64
  /// The changes to the channel's manifest, sorted by URL.
  package let changes: [EntryChange]
}

/// What a release did, or, for a dry run, would do.
package struct ReleaseOutcome: Sendable {
  /// A release's changes to one bundle.
  package struct Bundle: Hashable, Sendable {
    /// The bundle's name.
    package let name: BundleName
    /// How many of its URLs were added, changed and removed.
    package let counts: ChangeCounts
    /// The newest release of this bundle that its publisher hadn't seen, and whose content is replaced.
    package let replaced: ReleaseStamp?
  }

  /// Whether there is a new version; if not, nothing was changed at all.
  package let changed: Bool
  /// The channel afterwards; nil only in a dry run or an empty publish for an app or channel that doesn't exist.
  package var channel: ChannelInfo?
  /// The version that was made; if none was, the channel's full version.
  package let version: ManifestVersion
  /// The channel's newest version before.
  package let previous: ManifestVersion
  /// Milliseconds since 1970. If nothing changed, the time of the newest release; 0 if there is none.
  package let at: Int64
  /// The changes to the channel's manifest, sorted by URL; empty in a dry run.
  package let changes: [EntryChange]
  /// The number of those changes.
  package let counts: ChangeCounts
  /// The changes to each bundle.
  package let bundles: [Bundle]
  /// Bytes of the resources that were added or changed.
  package let newBytes: Int64
  /// The number of resources in the manifest afterwards.
  package let resources: Int
  /// The bytes of all those resources.
  package let bytes: Int64
  /// Whether the app was created for it.
  package let createdApp: Bool
  /// Whether the channel was created for it.
  package let createdChannel: Bool
  /// In a dry run, the digests of bytes that would have to be sent first.
  package let missing: [SHA256]
  /// The release's row in the audit trail; nil if nothing was changed.
  package var receipt: AuditHead?
  /// What happened to the prefetch config that was to come along; nil if none was.
  package internal(set) var prefetch: PrefetchOutcome?
  /// In a dry run, the freeze that the release would be refused for.
  package internal(set) var freeze: ChannelFreeze?
  /// In a dry run, the changes to the channel's manifest, sorted by URL.
  package internal(set) var planned: [PlannedChange] = []
  /// The channel's other documents, if the release changed them.
  package internal(set) var extras: ChannelExtras?
  /// In a channel with a root, the bundles that it changed, ordered by name, and their statements; in a dry run, also those that devices
  /// would refuse.
  package internal(set) var trust: [BundleTrust] = []
  /// Why devices don't take the release yet; nil if they do, or it is a dry run.
  package internal(set) var headProblem: HeadProblem?
  /// What it did, or would do, to the channel's rollouts; nil: nothing.
  package internal(set) var rollout: RolloutChange?
  /// The newest rollout whose candidate had the same content, and was halted; nil if none had.
  package internal(set) var sameAsHalted: Rollout?
}

/// The change that a planned release would make to one URL of its channel's manifest.
package struct PlannedChange: Hashable, Sendable {
  /// The URL.
  package let url: ResourceURL
  /// The current size in bytes; nil if the URL would be new.
  package let old: Int64?
  /// The new size in bytes; nil if the URL would be removed.
  package let new: Int64?
}

extension ReleaseOutcome {
  /// Promotes a prefetch config along with the release of this transaction; with an audience, along with the candidate.
  mutating func follow(
    _ carryOver: PrefetchCarryOver, in channel: ChannelInfo, at version: ManifestVersion,
    by follower: PrefetchReconciler, to audience: RolloutAudience?, now: Int64, in db: Database
  ) throws(StoreError) {
    let made = try db.follow(carryOver, in: channel, at: version, by: follower, to: audience, now: now)
    prefetch = made
    guard made.changed else { return }
    if channel.rollout != nil {
      let after = try db.endOvertakenRollout(
        of: channel, by: follower.actor, breakGlass: follower.breakGlass, now: now)
      self.channel = after
      if after.rollout == nil {
        rollout = rollout.overtaken(channel.rollout, isOver: true)
      } else if let change = rollout {
        rollout = RolloutChange(ended: change.ended, open: after.rollout, course: change.course)
      }
    }
    extras = try db.extras(of: channel.id)
    receipt = try db.auditHead()
  }

  /// The outcome if the channel already is as requested.
  static func unchanged(_ plan: ReleasePlan) -> ReleaseOutcome {
    ReleaseOutcome(
      changed: false, channel: plan.channel, version: plan.unchangedVersion,
      previous: plan.channel?.version ?? .none, at: plan.channel?.at ?? 0, changes: [],
      counts: ChangeCounts(),
      bundles: plan.reported.map { Bundle($0, plan) }, newBytes: 0, resources: plan.resources,
      bytes: plan.bytes,
      createdApp: false, createdChannel: false, missing: [])
  }

  static func dryRun(_ plan: ReleasePlan, missing: [SHA256], now: Int64) -> ReleaseOutcome {
    var outcome = ReleaseOutcome(
      changed: true, channel: plan.channel, version: plan.channel?.nextVersion ?? ManifestVersion(1),
      previous: plan.channel?.version ?? .none, at: max(now, plan.channel?.at ?? 0), changes: [],
      counts: plan.counts, bundles: plan.reported.map { Bundle($0, plan) }, newBytes: plan.newBytes,
      resources: plan.resources, bytes: plan.bytes, createdApp: !plan.appExists,
      createdChannel: plan.channel == nil, missing: missing)
    outcome.planned =
      plan.comparison?.manifest.map { PlannedChange(url: $0.url, old: $0.old?.size, new: $0.new?.size) }
      ?? plan.union.map { PlannedChange(url: $0.url, old: $0.old?.content.size, new: $0.new?.size) }
    return outcome
  }
}

extension ReleaseOutcome.Bundle {
  init(_ bundle: ReleasePlan.Bundle, _ plan: ReleasePlan) {
    self.init(name: bundle.name, counts: plan.counts(of: bundle), replaced: bundle.replaced)
  }
}
