import Manifests
import Synchronization

/// The answers to devices at older versions, over all channels, within a budget of bytes.
///
/// Those of pinned bases, which the fleet is at, stay, whatever else is asked for; of the others the least recently used
/// go. Time is counted in insertions: a reader stores it where it differs, so that nobody takes a lock to be read.
struct PatchCache: Sendable {
  /// What is known of a base.
  final class Kept: Sendable {
    /// nil: no manifest of that number is kept.
    let patch: RenderedPatch?
    fileprivate let version: ManifestVersion
    fileprivate let extras: AnswerExtras
    fileprivate let cost: Int
    private let lastUse: Atomic<UInt64>

    fileprivate init(_ patch: RenderedPatch?, to channel: ChannelCatalog, now: UInt64) {
      self.patch = patch
      version = channel.version
      extras = channel.extras
      // About what the rest of an entry takes.
      cost = (patch?.cost ?? 0) + 512
      lastUse = Atomic(now)
    }

    fileprivate func touch(_ now: UInt64) {
      if lastUse.load(ordering: .relaxed) != now { lastUse.store(now, ordering: .relaxed) }
    }

    fileprivate var used: UInt64 { lastUse.load(ordering: .relaxed) }
  }

  private struct Place: Hashable {
    let channel: Int64
    let base: Int64
  }

  private var pinned: [Int64: [Int64: Kept]] = [:]
  private var others: [Place: Kept] = [:]
  /// The bases of each channel whose answers are pinned once they are made.
  private var pins: [Int64: Set<Int64>] = [:]
  /// Counts what made a channel's answers old without a release.
  private var renewals: [Int64: Int] = [:]
  private var cost = (pinned: 0, others: 0)
  private var largestMap = 0
  private var now: UInt64 = 0

  /// Bases that are pinned at most in a channel.
  static let mostPins = 64
  /// Answers that aren't pinned, at most.
  static let mostOthers = 1024
  /// Bytes for those that are pinned, and as many for the others: several whole manifests of the largest channel.
  private var budget: Int { max(64 << 20, 4 * largestMap) }

  var count: Int { others.count + pinned.values.reduce(0) { $0 + $1.count } }
  var byteCount: Int { cost.pinned + cost.others }

  /// What is known of a base for a channel as it is.
  func answer(from base: Int64, to channel: ChannelCatalog) -> Kept? {
    let id = channel.channel.id
    guard let kept = pinned[id]?[base] ?? others[Place(channel: id, base: base)],
      kept.version == channel.version, kept.extras == channel.extras
    else { return nil }
    kept.touch(now)
    return kept
  }

  func isPinned(_ base: Int64, of channel: Int64) -> Bool { pins[channel]?.contains(base) ?? false }

  /// The bases of a channel that are pinned, newest first.
  func pins(of channel: Int64) -> [ManifestVersion] {
    (pins[channel] ?? []).sorted(by: >).map { ManifestVersion($0) }
  }

  /// A number that differs from what it was before `renew`.
  func renewal(of channel: Int64) -> Int { renewals[channel] ?? 0 }

  /// Keeps an answer, in the place of one that is there, unless that leads to a newer version.
  ///
  /// - Parameters:
  ///   - patch: nil where no manifest of the base's number is kept.
  ///   - renewal: as it was before the answer was made; what was renewed since is newer than the answer.
  mutating func insert(_ patch: RenderedPatch?, from base: Int64, to channel: ChannelCatalog, renewal: Int) {
    let id = channel.channel.id
    guard patch.map({ $0.extras == channel.extras }) ?? true, renewal == self.renewal(of: id) else { return }
    let place = Place(channel: id, base: base)
    // Whoever made this one saw the catalog before the release that the one that is there leads to.
    if let there = self[place], there.version > channel.version { return }
    now += 1
    largestMap = max(largestMap, channel.held.map?.byteCount ?? 0)
    drop(place)
    let kept = Kept(patch, to: channel, now: now)
    if isPinned(base, of: id), cost.pinned + kept.cost <= budget {
      pinned[id, default: [:]][base] = kept
      cost.pinned += kept.cost
    } else {
      others[place] = kept
      cost.others += kept.cost
      makeRoom()
    }
  }

  /// Pins these bases of a channel and no others; what is there of the others may go.
  mutating func pin(_ bases: [ManifestVersion], of channel: Int64) {
    pins[channel] = Set(bases.prefix(Self.mostPins).map(\.number))
    rearrange(channel)
  }

  /// Pins one more base, in the place of the oldest where there are too many.
  mutating func pin(_ base: ManifestVersion, of channel: Int64) {
    var bases = pins[channel] ?? []
    bases.insert(base.number)
    if bases.count > Self.mostPins, let oldest = bases.min() { bases.remove(oldest) }
    pins[channel] = bases
    rearrange(channel)
  }

  /// Forgets what leads to older versions of a channel.
  mutating func forget(_ channel: Int64, before version: ManifestVersion) {
    for place in places(of: channel) where (self[place]?.version ?? version) < version { drop(place) }
  }

  /// Forgets the answers of a channel that nobody asks for; its pins stay, for those who come back.
  mutating func forget(_ channel: Int64) { for place in places(of: channel) { drop(place) } }

  /// Forgets the answers from bases that aren't kept any more, which are no pins any more; one that is being made meanwhile
  /// isn't kept.
  mutating func forget(_ channel: Int64, from bases: Set<ManifestVersion>) {
    renewals[channel, default: 0] += 1
    let numbers = Set(bases.map(\.number))
    pins[channel]?.subtract(numbers)
    for place in places(of: channel) where numbers.contains(place.base) { drop(place) }
  }

  /// Forgets all of a channel that is gone.
  mutating func remove(_ channel: Int64) {
    for place in places(of: channel) { drop(place) }
    pins[channel] = nil
  }

  /// There are deltas that no answer of a channel offers yet: pinned ones are to be made again by whoever says so, the
  /// others when they are asked for.
  mutating func renew(_ channel: Int64) {
    renewals[channel, default: 0] += 1
    for place in places(of: channel) where others[place] != nil { drop(place) }
  }

  private subscript(place: Place) -> Kept? { pinned[place.channel]?[place.base] ?? others[place] }

  private func places(of channel: Int64) -> [Place] {
    (pinned[channel] ?? [:]).keys.map { Place(channel: channel, base: $0) }
      + others.keys.filter { $0.channel == channel }
  }

  private mutating func drop(_ place: Place) {
    if let kept = pinned[place.channel]?.removeValue(forKey: place.base) { cost.pinned -= kept.cost }
    if let kept = others.removeValue(forKey: place) { cost.others -= kept.cost }
  }

  /// Puts each answer of a channel where it belongs after its pins changed.
  private mutating func rearrange(_ channel: Int64) {
    for place in places(of: channel) {
      guard let kept = self[place], isPinned(place.base, of: channel) != (others[place] == nil) else {
        continue
      }
      drop(place)
      if isPinned(place.base, of: channel), cost.pinned + kept.cost <= budget {
        pinned[channel, default: [:]][place.base] = kept
        cost.pinned += kept.cost
      } else {
        others[place] = kept
        cost.others += kept.cost
      }
    }
    makeRoom()
  }

  private mutating func makeRoom() {
    guard others.count > Self.mostOthers || cost.others > budget else { return }
    for (place, _) in others.map({ ($0.key, $0.value.used) }).sorted(by: { $0.1 < $1.1 }) {
      // One answer may be larger than all the room.
      guard others.count > 1, others.count > Self.mostOthers || cost.others > budget else { return }
      drop(place)
    }
  }
}
