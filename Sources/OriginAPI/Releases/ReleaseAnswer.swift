import Manifests
import System

/// How many URLs came, changed and went.
///
/// `counts` means one thing wherever it stands. The three numbers that stand beside it say the same under names of which
/// `changed` is a Boolean elsewhere; they stay for two minor versions.
package struct ReleaseCounts: Codable, Hashable, Sendable {
  package let added: Int
  package let changed: Int
  package let removed: Int

  package init(added: Int, changed: Int, removed: Int) {
    self.added = added
    self.changed = changed
    self.removed = removed
  }
}

/// What a release did, or, of a dry run, would do.
package struct ReleaseAnswer: Codable, Hashable, Sendable {
  /// What became of one bundle.
  package struct Bundle: Codable, Hashable, Sendable {
    package let bundle: String
    package let added: Int
    package let changed: Int
    package let removed: Int
    package var counts: ReleaseCounts?
    /// The release of this bundle that came after the plan was made and is replaced by this one.
    @OrNull package var replaced: ReleaseReference?

    package init(bundle: String, counts: ReleaseCounts, replaced: ReleaseReference?) {
      self.bundle = bundle
      (added, changed, removed) = (counts.added, counts.changed, counts.removed)
      self.counts = counts
      self.replaced = replaced
    }

    package var isChanged: Bool { added > 0 || changed > 0 || removed > 0 }
  }

  /// False: everything was there already, live at `version`.
  package let isChanged: Bool
  package let version: ManifestVersion
  package let previous: ManifestVersion
  /// Of the newest release where nothing changed.
  package let at: Moment
  /// URLs of the channel's manifest.
  package let added: Int
  package let changed: Int
  package let removed: Int
  package var counts: ReleaseCounts?
  package let bundles: [Bundle]
  /// Bytes of what was added or changed.
  package let newBytes: Int64
  /// The manifest afterwards.
  package let resources: Int
  package let bytes: Int64
  package let createdApp: Bool
  package let createdChannel: Bool
  /// In a dry run: what would have to be sent first.
  package let missing: [SHA256]
  /// Whether the deltas on the version that is replaced were stored before it became visible.
  package let deltasStored: Bool
  /// The row of the audit trail that tells of it, `number:hash`; nil where nothing was changed.
  @OrNull package var receipt: String?
  /// In a dry run: the freeze for which the release would be refused; nil: it wouldn't, or the origin is an older one.
  package var freeze: FreezeInfo?
  /// In a dry run of what sends no files: the ones that would change, and what devices would download.
  package var forecast: ReleaseForecast?

  package init(
    isChanged: Bool, version: ManifestVersion, previous: ManifestVersion, at: Moment,
    counts: ReleaseCounts, bundles: [Bundle], newBytes: Int64, resources: Int, bytes: Int64,
    createdApp: Bool, createdChannel: Bool, missing: [SHA256], deltasStored: Bool, receipt: String?
  ) {
    self.isChanged = isChanged
    self.version = version
    self.previous = previous
    self.at = at
    (added, changed, removed) = (counts.added, counts.changed, counts.removed)
    self.counts = counts
    self.bundles = bundles
    self.newBytes = newBytes
    self.resources = resources
    self.bytes = bytes
    self.createdApp = createdApp
    self.createdChannel = createdChannel
    self.missing = missing
    self.deltasStored = deltasStored
    self.receipt = receipt
  }

  private enum CodingKeys: String, CodingKey {
    case isChanged = "changed"
    case changed = "changed_count"
    case version, previous, at, added, removed, counts, bundles, newBytes, resources, bytes, createdApp
    case createdChannel, missing, deltasStored, receipt, freeze, forecast
  }
}

/// What a release would do to a channel's manifest, and what that would cost devices.
package struct ReleaseForecast: Codable, Hashable, Sendable {
  /// Sorted by URL.
  package let files: [File]
  /// What a device on the version that is replaced would download; nil: it isn't worked out.
  package let update: TransferCost?

  /// What would become of one URL.
  package struct File: Codable, Hashable, Sendable {
    package let url: String
    package let change: RollbackDetails.Change
    /// Bytes of the file; of one that is removed, those that it has.
    package let size: Int64
    /// Bytes that a changed file has now.
    package let was: Int64?

    package init(url: String, change: RollbackDetails.Change, size: Int64, was: Int64?) {
      self.url = url
      self.change = change
      self.size = size
      self.was = was
    }
  }

  package init(files: [File], update: TransferCost?) {
    self.files = files
    self.update = update
  }
}

/// A release that another act made: one JSON object of its answer's members and those of the act.
@dynamicMemberLookup
package struct ReleaseAct<Details: Codable & Sendable>: Codable, Sendable {
  package let release: ReleaseAnswer
  package var details: Details

  package init(_ release: ReleaseAnswer, _ details: Details) {
    self.release = release
    self.details = details
  }

  package init(from decoder: any Decoder) throws {
    release = try ReleaseAnswer(from: decoder)
    details = try Details(from: decoder)
  }

  package func encode(to encoder: any Encoder) throws {
    try release.encode(to: encoder)
    try details.encode(to: encoder)
  }

  package subscript<Value>(dynamicMember member: KeyPath<Details, Value>) -> Value {
    details[keyPath: member]
  }
}

/// Which release, by whom and when.
package struct ReleaseReference: Codable, Hashable, Sendable {
  package let version: ManifestVersion
  package let author: String
  package let at: Moment

  package init(version: ManifestVersion, author: String, at: Moment) {
    self.version = version
    self.author = author
    self.at = at
  }
}

/// What became of a prefetch config that came along.
package struct PrefetchResult: Codable, Hashable, Sendable {
  /// False: it was that already, or it is kept.
  package let changed: Bool
  /// There was none to come along, so what is live stays.
  package let kept: Bool
  /// The version whose content it has, where that comes from; 0: there was none.
  package let source: ManifestVersion
  /// The newest version afterwards.
  package let version: ManifestVersion

  package init(changed: Bool, kept: Bool, source: ManifestVersion, version: ManifestVersion) {
    self.changed = changed
    self.kept = kept
    self.source = source
    self.version = version
  }
}

/// How far a release that is planned is prepared, and what it costs devices.
package struct PreparationAnswer: Codable, Sendable {
  package let id: String
  /// Whether the deltas on the replaced version are stored.
  package let ready: Bool
  /// Whether those on older versions are, too; the costs for these are upper limits otherwise.
  package let done: Bool
  /// Whether a release no longer waits for it.
  package let late: Bool
  /// How long it took until it was ready, or takes.
  package let milliseconds: Int64
  /// New files, how many of them were looked at, and the deltas that were made.
  package let files: Int64
  package let filesDone: Int64
  package let deltas: Int64
  package let cost: Costs

  /// The version that the release is planned on, to which the costs belong; nil: an older origin doesn't say.
  package var base: ManifestVersion?
  /// sha256 of the document that the origin was given, where it keeps it for the release; nil: it doesn't, or is older.
  package var plan: SHA256?

  /// What the update costs devices, as far as it is worked out.
  package struct Costs: Codable, Sendable {
    /// From the version that is replaced, from the one before it, from the fifth before.
    package var last1: TransferCost?
    package var last2: TransferCost?
    package var last5: TransferCost?
    /// For devices that have nothing.
    package var new: TransferCost?

    /// Whether the release replaces nothing, as far as it is known: what devices without anything download is worked out
    /// last.
    package var isFirst: Bool { last1 == nil && new != nil }
    /// Whether anything is worked out.
    package var isKnown: Bool { last1 != nil || new != nil }

    package init() {}
  }

  package init(
    id: String, ready: Bool, done: Bool, late: Bool, milliseconds: Int64, files: Int, filesDone: Int,
    deltas: Int, cost: Costs
  ) {
    self.id = id
    self.ready = ready
    self.done = done
    self.late = late
    self.milliseconds = milliseconds
    self.files = Int64(files)
    self.filesDone = Int64(filesDone)
    self.deltas = Int64(deltas)
    self.cost = cost
  }
}

/// What a device downloads for an update.
package struct TransferCost: Codable, Hashable, Sendable {
  /// Files over the wire, and how many of them as deltas.
  package let files: Int64
  package let deltas: Int64
  /// Bytes of the files one by one, and what they would be without deltas.
  package let bytes: Int64
  package let plainBytes: Int64
  /// Bytes of the answer that says what is new, as it is sent; nil: an older origin doesn't say.
  package var answer: Int64?
  /// Bytes of the pack that takes the place of the files; nil: there is none.
  package var pack: Int64?
  /// The answer, and the pack or each file.
  package var requests: Int64?
  /// Bytes over the wire in all: of the answer, and of the pack or the files; nil: an older origin doesn't say.
  package var total: Int64?

  package init(
    files: Int, deltas: Int, bytes: Int64, plainBytes: Int64, answer: Int64? = nil, pack: Int64? = nil,
    requests: Int? = nil
  ) {
    self.files = Int64(files)
    self.deltas = Int64(deltas)
    self.bytes = bytes
    self.plainBytes = plainBytes
    self.answer = answer
    self.pack = pack
    self.requests = requests.map { Int64($0) }
    total = (pack ?? bytes).addingClamped(answer ?? 0)
  }

  /// Bytes over the wire in all, whatever the origin says.
  package var wireBytes: Int64 { total ?? (pack ?? bytes).addingClamped(answer ?? 0) }
}
