import Manifests
import Synchronization

/// The answers to devices at older versions, for all channels, limited in size.
///
/// Answers from pinned bases, which the fleet runs, stay, whatever else is asked for; among the others, the least recently
/// used are evicted. Time is counted in insertions: a reader stores it only if it differs, so that no lock is needed.
struct PatchCache: Sendable {
  /// What is known about a base.
  final class Entry: Sendable {
    /// Nil if no manifest of that version is kept.
    let patch: RenderedPatch?
    fileprivate let version: ManifestVersion
    fileprivate let extras: AnswerExtras
    fileprivate let trustEdition: Int
    fileprivate let cost: Int
    private let lastUse: Atomic<UInt64>

    fileprivate init(_ patch: RenderedPatch?, to channel: ChannelCatalog, now: UInt64) {
      self.patch = patch
      version = channel.version
      extras = channel.extras
      trustEdition = channel.trustEdition
      // The approximate cost of the rest of an entry.
      cost = (patch?.cost ?? 0) + 512
      lastUse = Atomic(now)
    }

    fileprivate func touch(_ now: UInt64) {
      if lastUse.load(ordering: .relaxed) != now { lastUse.store(now, ordering: .relaxed) }
    }

    fileprivate var used: UInt64 { lastUse.load(ordering: .relaxed) }
  }

  /// A channel has one slot, and another one while a candidate is open (`ChannelCatalog.slot`).
  private struct Key: Hashable {
    let slot: Int64
    let base: Int64

    /// The channel's id.
    var channel: Int64 { slot < 0 ? ~slot : slot }
  }

  /// By slot.
  private var pinned: [Int64: [Int64: Entry]] = [:]
  private var unpinned: [Key: Entry] = [:]
  /// The bases of each channel whose answers are pinned once they are made.
  private var pins: [Int64: Set<Int64>] = [:]
  /// The digests of bases that answers were made from, by channel, in hexadecimal. They outlast the answers, since they never change.
  private var digests: [Int64: [Int64: [UInt8]]] = [:]
  /// Counts how often a channel's answers became stale without a release.
  private var renewals: [Int64: Int] = [:]
  private var cost = (pinned: 0, unpinned: 0)
  private var largestMap = 0
  private var now: UInt64 = 0

  /// The maximum number of pinned bases in a channel.
  static let maxPins = 64
  /// The maximum number of answers that aren't pinned.
  static let maxUnpinned = 1024
  /// The most bases of a channel whose digests are known.
  static let maxDigests = 128
  /// The bytes for pinned answers, and as many for the others: several whole manifests of the largest channel.
  private var budget: Int { max(64 << 20, 4 * largestMap) }

  var count: Int { unpinned.count + pinned.values.reduce(0) { $0 + $1.count } }
  var byteCount: Int { cost.pinned + cost.unpinned }

  /// Returns what is known about a base for a channel's current state.
  func answer(from base: Int64, to channel: ChannelCatalog) -> Entry? {
    let slot = channel.slot
    guard let entry = pinned[slot]?[base] ?? unpinned[Key(slot: slot, base: base)],
      entry.version == channel.version, entry.extras == channel.extras,
      entry.trustEdition == channel.trustEdition
    else { return nil }
    entry.touch(now)
    return entry
  }

  /// Returns the digest of a version that is kept; nil if it isn't known here.
  func digest(of base: Int64, in channel: Int64) -> [UInt8]? { digests[channel]?[base] }

  func isPinned(_ base: Int64, of channel: Int64) -> Bool { pins[channel]?.contains(base) ?? false }

  /// Returns the pinned bases of a channel, newest first.
  func pins(of channel: Int64) -> [ManifestVersion] {
    (pins[channel] ?? []).sorted(by: >).map { ManifestVersion($0) }
  }

  /// Returns a number that `renew` changes.
  func renewal(of channel: Int64) -> Int { renewals[channel] ?? 0 }

  /// Keeps an answer, replacing an existing one unless that leads to a newer version.
  ///
  /// `patch` is nil if no manifest of the base's version is kept, or no patch leads from it; `digest` is that version's, if it is kept.
  /// `renewal` is the number from before the answer was made: if it has changed since, the answer is stale.
  mutating func insert(
    _ patch: RenderedPatch?, from base: Int64, to channel: ChannelCatalog, renewal: Int,
    digest: [UInt8]? = nil
  ) {
    let id = channel.channel.id
    guard patch.map({ $0.extras == channel.extras }) ?? true, renewal == self.renewal(of: id) else { return }
    if let digest { keep(digest, of: base, in: id) }
    let key = Key(slot: channel.slot, base: base)
    // This answer was made before the release that the existing one leads to.
    if let existing = self[key] {
      if existing.version > channel.version { return }
      if existing.version == channel.version, existing.trustEdition > channel.trustEdition { return }
    }
    now += 1
    largestMap = max(largestMap, channel.held.map?.byteCount ?? 0)
    drop(key)
    let entry = Entry(patch, to: channel, now: now)
    if isPinned(base, of: id), cost.pinned + entry.cost <= budget {
      pinned[channel.slot, default: [:]][base] = entry
      cost.pinned += entry.cost
    } else {
      unpinned[key] = entry
      cost.unpinned += entry.cost
      makeRoom()
    }
  }

  /// Pins exactly these bases of a channel; the answers from others become evictable.
  mutating func pin(_ bases: [ManifestVersion], of channel: Int64) {
    pins[channel] = Set(bases.prefix(Self.maxPins).map(\.number))
    rearrange(channel)
  }

  /// Pins another base, in place of the oldest if there are too many.
  mutating func pin(_ base: ManifestVersion, of channel: Int64) {
    var bases = pins[channel] ?? []
    bases.insert(base.number)
    if bases.count > Self.maxPins, let oldest = bases.min() { bases.remove(oldest) }
    pins[channel] = bases
    rearrange(channel)
  }

  /// Drops answers that lead to other versions of a channel than it answers with now.
  mutating func forget(_ channel: ChannelCatalog) {
    for key in keys(of: channel.channel.id) {
      let state = channel.answered.first { $0.slot == key.slot }
      if self[key]?.version != state?.version { drop(key) }
    }
  }

  /// Drops the answers of a channel that nobody polls; its pins stay for when devices return.
  mutating func forget(_ channel: Int64) {
    for key in keys(of: channel) { drop(key) }
    digests[channel] = nil
  }

  /// Drops the answers from bases that are no longer kept, and their pins; an answer that is being made isn't kept.
  mutating func forget(_ channel: Int64, from bases: Set<ManifestVersion>) {
    renewals[channel, default: 0] += 1
    let numbers = Set(bases.map(\.number))
    pins[channel]?.subtract(numbers)
    for number in numbers { digests[channel]?[number] = nil }
    for key in keys(of: channel) where numbers.contains(key.base) { drop(key) }
  }

  /// Drops everything of a removed channel.
  mutating func remove(_ channel: Int64) {
    for key in keys(of: channel) { drop(key) }
    (pins[channel], digests[channel]) = (nil, nil)
  }

  /// Marks a channel's answers as stale, since there are deltas that they don't offer yet: the caller makes the pinned ones
  /// again, the others are made again on demand.
  mutating func renew(_ channel: Int64) {
    renewals[channel, default: 0] += 1
    for key in keys(of: channel) where unpinned[key] != nil { drop(key) }
  }

  private mutating func keep(_ digest: [UInt8], of base: Int64, in channel: Int64) {
    guard digests[channel]?[base] == nil else { return }
    digests[channel, default: [:]][base] = digest
    // Few devices have the oldest one.
    if let known = digests[channel], known.count > Self.maxDigests, let oldest = known.keys.min() {
      digests[channel]?[oldest] = nil
    }
  }

  private subscript(key: Key) -> Entry? { pinned[key.slot]?[key.base] ?? unpinned[key] }

  private func keys(of channel: Int64) -> [Key] {
    [channel, ~channel].flatMap { slot in (pinned[slot] ?? [:]).keys.map { Key(slot: slot, base: $0) } }
      + unpinned.keys.filter { $0.channel == channel }
  }

  private mutating func drop(_ key: Key) {
    if let entry = pinned[key.slot]?.removeValue(forKey: key.base) { cost.pinned -= entry.cost }
    if let entry = unpinned.removeValue(forKey: key) { cost.unpinned -= entry.cost }
  }

  /// Moves a channel's answers between pinned and others after its pins changed.
  private mutating func rearrange(_ channel: Int64) {
    for key in keys(of: channel) {
      guard let entry = self[key], isPinned(key.base, of: channel) != (unpinned[key] == nil) else {
        continue
      }
      drop(key)
      if isPinned(key.base, of: channel), cost.pinned + entry.cost <= budget {
        pinned[key.slot, default: [:]][key.base] = entry
        cost.pinned += entry.cost
      } else {
        unpinned[key] = entry
        cost.unpinned += entry.cost
      }
    }
    makeRoom()
  }

  private mutating func makeRoom() {
    guard unpinned.count > Self.maxUnpinned || cost.unpinned > budget else { return }
    for (key, _) in unpinned.map({ ($0.key, $0.value.used) }).sorted(by: { $0.1 < $1.1 }) {
      // One answer may be larger than the whole budget.
      guard unpinned.count > 1, unpinned.count > Self.maxUnpinned || cost.unpinned > budget else { return }
      drop(key)
    }
  }
}
