import Manifests
import System

/// What a release did or, for a dry run, would do.
package struct ReleaseAnswer: Codable, Hashable, Sendable {
  /// What happened to one bundle.
  package struct Bundle: Codable, Hashable, Sendable {
    package let bundle: String
    package let added: Int
    package let changed: Int
    package let removed: Int
    package var counts: ChangeCounts?
    /// A release of this bundle that was made after the plan, and that this one replaces.
    @OrNull package var replaced: ReleaseStamp?

    package init(bundle: String, counts: ChangeCounts, replaced: ReleaseStamp?) {
      self.bundle = bundle
      (added, changed, removed) = (counts.added, counts.changed, counts.removed)
      self.counts = counts
      self.replaced = replaced
    }

    package var isChanged: Bool { added > 0 || changed > 0 || removed > 0 }
  }

  /// False if everything was already live, at `version`.
  package var isChanged: Bool
  package let version: ManifestVersion
  package let previous: ManifestVersion
  /// When the release was made; if nothing changed, when the newest release was.
  package let at: Moment
  /// The number of URLs in the channel's manifest that were added.
  package let added: Int
  package let changed: Int
  package let removed: Int
  package var counts: ChangeCounts?
  package let bundles: [Bundle]
  /// The size in bytes of the content that was added or changed; not of files of which only the type, headers or fallback changed.
  package let newBytes: Int64
  /// The size of the manifest after the release.
  package let resources: Int
  package let bytes: Int64
  package let createdApp: Bool
  package let createdChannel: Bool
  /// In a dry run: the blobs that would have to be sent first.
  package let missing: [SHA256]
  /// Whether the deltas from the replaced version were stored before the release became visible.
  package let deltasStored: Bool
  /// The row of the audit trail that records the release, as `number:hash`; nil if nothing changed.
  @OrNull package var receipt: String?
  /// In a dry run: the freeze that would block the release; nil if none would, or from an older origin.
  package var freeze: ChannelFreeze?
  /// What it did, or would do, to the rollouts of the channel; nil: nothing.
  package var rollout: RolloutChangeInfo?
  /// The newest rollout whose candidate had the same content, and was halted; absent if none had, and in a dry run.
  package var sameAsHalted: RolloutInfo?
  /// In a dry run of an act that sends no files: the files that would change, and what devices would download.
  package var forecast: ReleaseForecast?
  /// The release that is to be made later; absent for one that was made. Then the other members say what it would do now.
  package var scheduled: ScheduledInfo?
  /// In a dry run, in a channel with a root: what would be signed of each bundle that changes.
  package var contents: [PlannedContent]?
  /// In a dry run: the bundles that devices would refuse, since no statement covers them; nil if there are none.
  package var unsigned: [UnsignedContent]?
  /// In a channel with a root, why devices don't take the release yet: `no-head-key` if the origin has none of the keys for heads that the
  /// root names, `behind` if it couldn't sign; nil if nothing keeps them.
  package var headProblem: String?

  /// The answer for a release that is to be made later: nothing is changed yet.
  package func scheduled(as act: ScheduledInfo) -> ReleaseAnswer {
    var answer = self
    (answer.isChanged, answer.scheduled) = (false, act)
    return answer
  }

  package init(
    isChanged: Bool, version: ManifestVersion, previous: ManifestVersion, at: Moment,
    counts: ChangeCounts, bundles: [Bundle], newBytes: Int64, resources: Int, bytes: Int64,
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
    case createdChannel, missing, deltasStored, receipt, freeze, forecast, rollout, scheduled
    case contents, unsigned, headProblem, sameAsHalted
  }
}

/// What a release would do to a channel's manifest, and its cost for devices.
package struct ReleaseForecast: Codable, Hashable, Sendable {
  /// Sorted by URL.
  package let files: [File]
  /// What a device on the replaced version would download; nil if it hasn't been worked out.
  package let update: TransferCost?

  /// What would happen to one URL.
  package struct File: Codable, Hashable, Sendable {
    package let url: String
    package let change: RollbackDetails.Change
    /// The file's size in bytes; for a removed file, its current size.
    package let size: Int64
    /// The current size in bytes of a changed file.
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

/// A release made by another act: one JSON object with the members of the release's answer and of the act.
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

/// The progress of a planned release's preparation, and what the release costs devices.
package struct PreparationAnswer: Codable, Sendable {
  package let id: String
  /// Whether the deltas from the replaced version are stored.
  package let ready: Bool
  /// Whether those from older versions are, too; until then, the costs for these are upper bounds.
  package let done: Bool
  /// Whether releases no longer wait for it.
  package let late: Bool
  /// How long it took until it was ready, or has taken so far.
  package let milliseconds: Int64
  /// The number of new files, of those examined so far, and of deltas made.
  package let files: Int64
  package let filesDone: Int64
  package let deltas: Int64
  package let cost: Costs

  /// The version that the release is planned on, for which the costs hold; nil from an older origin.
  package var base: ManifestVersion?
  /// The SHA-256 of the document that the origin was given, if it keeps it for the release; otherwise nil, as from an older
  /// origin.
  package var plan: SHA256?
  /// In the first answer, in a channel with a root: what would be signed of each bundle that changes.
  package var contents: [PlannedContent]?

  /// What the update costs devices, as far as that has been worked out.
  package struct Costs: Codable, Sendable {
    /// From the replaced version, from the one before it, and from the fifth before.
    package var last1: TransferCost?
    package var last2: TransferCost?
    package var last5: TransferCost?
    /// For devices that have nothing.
    package var new: TransferCost?

    /// Whether the release is known to replace nothing: the cost for devices without any version is worked out last.
    package var isFirst: Bool { last1 == nil && new != nil }
    /// Whether any cost has been worked out.
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

/// Files that are lazy, and their bytes.
package struct LazyFiles: Codable, Hashable, Sendable {
  package let files: Int64
  package let bytes: Int64

  package init(files: Int, bytes: Int64) {
    self.files = Int64(files)
    self.bytes = bytes
  }
}

/// What a device downloads for an update.
package struct TransferCost: Codable, Hashable, Sendable {
  /// The number of files sent over the wire, and how many of them as deltas.
  package let files: Int64
  package let deltas: Int64
  /// The bytes of the files sent one by one, and what they would be without deltas.
  package let bytes: Int64
  package let plainBytes: Int64
  /// The bytes of the answer that says what is new, as sent; nil from an older origin.
  package var answer: Int64?
  /// The bytes of the pack that replaces the files, or nil if there is none. A first pack may be an earlier version's, and lack a few.
  package var pack: Int64?
  /// The number of requests: for the answer, for the pack, and for each file that isn't in one.
  package var requests: Int64?
  /// The total bytes over the wire: the answer, the pack, and the files that aren't in one; nil from an older origin.
  package var total: Int64?
  /// What the update leaves out until pages ask for it, in bytes as sent; nil if nothing. A pack may have such files all the same.
  package var lazy: LazyFiles?

  package init(
    files: Int, deltas: Int, bytes: Int64, plainBytes: Int64, answer: Int64? = nil, pack: Int64? = nil,
    unpackedBytes: Int64 = 0, requests: Int? = nil
  ) {
    self.files = Int64(files)
    self.deltas = Int64(deltas)
    self.bytes = bytes
    self.plainBytes = plainBytes
    self.answer = answer
    self.pack = pack
    self.requests = requests.map { Int64($0) }
    total = (pack ?? bytes).addingClamped(unpackedBytes).addingClamped(answer ?? 0)
  }

  /// The total bytes over the wire, computed if the origin doesn't say.
  package var wireBytes: Int64 { total ?? (pack ?? bytes).addingClamped(answer ?? 0) }
}
