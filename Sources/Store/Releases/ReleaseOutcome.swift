import Manifests
import System

/// Which release, by whom and when.
package struct ReleaseStamp: Hashable, Sendable {
  /// The version that it made.
  package let version: ManifestVersion
  /// Who made it.
  package let author: String
  /// Milliseconds since 1970.
  package let at: Int64
}

/// How many URLs came, changed and went.
package struct ChangeCounts: Hashable, Sendable {
  /// URLs that weren't there.
  package var added = 0
  /// URLs that have other bytes, another type or other headers.
  package var changed = 0
  /// URLs that are there no more.
  package var removed = 0

  /// Whether none came, changed or went.
  package var isEmpty: Bool { added == 0 && changed == 0 && removed == 0 }

  /// So many of each.
  package init(added: Int = 0, changed: Int = 0, removed: Int = 0) {
    self.added = added
    self.changed = changed
    self.removed = removed
  }

  mutating func count(hadOne: Bool, hasOne: Bool) {
    switch (hadOne, hasOne) {
    case (false, true): added += 1
    case (true, true): changed += 1
    case (true, false): removed += 1
    case (false, false): break
    }
  }
}

/// One URL of a channel's manifest and the entry that it has now; nil where it left.
package struct EntryChange: Hashable, Sendable {
  /// The URL.
  package let url: ResourceURL
  /// What it has from now on.
  package let entry: Entry?
  /// Whether it had one before.
  package let hadOne: Bool
  /// What a patch has to take away from the entry before, as `Entry.lost` says; mostly nothing.
  package let lost: JSONObject

  /// - Parameter old: headers of what the URL had; nil where it had nothing.
  init(url: ResourceURL, entry: Entry?, old: EntryHeaders?) {
    self.url = url
    self.entry = entry
    hadOne = old != nil
    if let entry, let old, !old.isEmpty {
      lost = entry.lost(since: old.members)
    } else {
      lost = JSONObject()
    }
  }

  /// What stands in a patch (RFC 7396).
  package var patch: JSONValue { entry?.patch(lost: lost) ?? .null }
}

/// A release that is planned and whose digest is asked for, before it is committed.
package struct PreparedRelease: Sendable {
  /// The channel as it was before.
  package let channel: ChannelInfo
  /// The version that it will be.
  package let version: ManifestVersion
  /// Milliseconds since 1970.
  package let at: Int64
  /// What becomes of the channel's manifest, sorted by URL.
  package let changes: [EntryChange]
}

/// What a release did, or, of a dry run, would do.
package struct ReleaseOutcome: Sendable {
  /// What became of one bundle.
  package struct Bundle: Hashable, Sendable {
    /// Which bundle.
    package let name: BundleName
    /// How many of its URLs came, changed and went.
    package let counts: ChangeCounts
    /// The newest release of this bundle that its publisher had not seen, and whose content is replaced.
    package let replaced: ReleaseStamp?
  }

  /// Whether there is a new version; without one nothing was changed at all.
  package let changed: Bool
  /// The channel afterwards; nil only in a dry run or an empty publish for an app or channel that isn't there.
  package var channel: ChannelInfo?
  /// The channel's newest afterwards.
  package let version: ManifestVersion
  /// Its newest before.
  package let previous: ManifestVersion
  /// Milliseconds since 1970; of the newest release where nothing changed, 0 where there is none.
  package let at: Int64
  /// What became of the channel's manifest, sorted by URL; empty in a dry run.
  package let changes: [EntryChange]
  /// The same in numbers.
  package let counts: ChangeCounts
  /// What became of each bundle that changed.
  package let bundles: [Bundle]
  /// Bytes of what was added or changed.
  package let newBytes: Int64
  /// The manifest afterwards.
  package let resources: Int
  /// The bytes of all of them.
  package let bytes: Int64
  /// Whether the app was made for it.
  package let createdApp: Bool
  /// Whether the channel was made for it.
  package let createdChannel: Bool
  /// In a dry run: what would have to be sent first.
  package let missing: [SHA256]
  /// The row of the audit trail that tells of it; nil where nothing was changed.
  package var receipt: AuditHead?
  /// What became of the prefetch config that came along; nil where none was to.
  package internal(set) var prefetch: PrefetchOutcome?
  /// Of a dry run: what the release would be refused for.
  package internal(set) var freeze: ChannelFreeze?
  /// Of a dry run of a release: what would become of the channel's manifest, sorted by URL.
  package internal(set) var planned: [PlannedChange] = []
  /// What the channel says beside its manifest, where that changed with it.
  package internal(set) var extras: ChannelExtras?
}

/// What a release that is only planned would do to one URL of its channel's manifest.
package struct PlannedChange: Hashable, Sendable {
  /// Which URL.
  package let url: ResourceURL
  /// Bytes that it has now; nil: it isn't there.
  package let old: Int64?
  /// Bytes that it would have; nil: it would leave.
  package let new: Int64?
}

extension ReleaseOutcome {
  /// Has a prefetch config come along with what is made in this transaction.
  mutating func follow(
    _ carryOver: PrefetchCarryOver, in channel: ChannelInfo, at version: ManifestVersion,
    by follower: PrefetchReconciler,
    now: Int64, in db: Database
  ) throws(StoreError) {
    let made = try db.follow(carryOver, in: channel, at: version, by: follower, now: now)
    prefetch = made
    guard made.changed else { return }
    extras = try db.extras(of: channel.id)
    receipt = try db.auditHead()
  }

  /// What is said where the channel already is as it was asked to be.
  static func unchanged(_ plan: ReleasePlan) -> ReleaseOutcome {
    ReleaseOutcome(
      changed: false, channel: plan.channel, version: plan.channel?.version ?? .none,
      previous: plan.channel?.version ?? .none, at: plan.channel?.at ?? 0, changes: [],
      counts: ChangeCounts(),
      bundles: plan.bundles.map(Bundle.init), newBytes: 0, resources: plan.resources, bytes: plan.bytes,
      createdApp: false, createdChannel: false, missing: [])
  }

  static func dryRun(_ plan: ReleasePlan, missing: [SHA256], now: Int64) -> ReleaseOutcome {
    var outcome = ReleaseOutcome(
      changed: true, channel: plan.channel, version: plan.channel?.nextVersion ?? ManifestVersion(1),
      previous: plan.channel?.version ?? .none, at: max(now, plan.channel?.at ?? 0), changes: [],
      counts: plan.counts, bundles: plan.bundles.map(Bundle.init), newBytes: plan.newBytes,
      resources: plan.resources, bytes: plan.bytes, createdApp: !plan.appExists,
      createdChannel: plan.channel == nil, missing: missing)
    outcome.planned = plan.union.map {
      PlannedChange(url: $0.url, old: $0.old?.content.size, new: $0.new?.size)
    }
    return outcome
  }
}

extension ReleaseOutcome.Bundle {
  init(_ plan: ReleasePlan.Bundle) {
    self.init(name: plan.name, counts: ReleasePlan.counts(plan.steps), replaced: plan.replaced)
  }
}
