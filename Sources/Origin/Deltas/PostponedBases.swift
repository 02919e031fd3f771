import Manifests
import Store
import System

/// Packs from older versions that are postponed: those without space, until there is some, and those that couldn't be
/// pushed, for a while. A newer version makes all of a channel's obsolete.
struct PackQueue: Sendable {
  enum Reason: Equatable, Sendable {
    /// There was no space for this many bytes.
    case space(Int64)
    case push
  }

  private struct Key: Hashable {
    let channel: Int64
    let base: ManifestVersion
  }

  private struct Item {
    let version: ManifestVersion
    let reason: Reason
  }

  private var items: [Key: Item] = [:]
  /// For channels whose packs can't be pushed: the wait in seconds, and when it ends.
  private var pushes: [Int64: (wait: Double, at: UInt64)] = [:]

  /// Seconds before the first attempt; each further wait doubles, up to the longest.
  private static let waits = (first: 2.0, longest: 300.0)

  /// Seconds until something may be due.
  var pause: Double {
    let now = Clock.monotonicNanoseconds()
    let channels = Set(items.filter { $0.value.reason == .push }.map(\.key.channel))
    let moments = channels.compactMap { pushes[$0]?.at }
    return moments.map { $0 > now ? Double($0 - now) / 1e9 : 0 }.min() ?? .infinity
  }

  mutating func note(_ channel: ChannelInfo, _ base: ManifestVersion, _ reason: Reason) {
    items[Key(channel: channel.id, base: base)] = Item(version: channel.version, reason: reason)
    guard reason == .push else { return }
    let now = Clock.monotonicNanoseconds()
    // Several failures in a row count as one attempt.
    if let push = pushes[channel.id], push.at > now { return }
    let wait = pushes[channel.id].map { min($0.wait * 2, Self.waits.longest) } ?? Self.waits.first
    pushes[channel.id] = (wait, now + UInt64(wait * 1e9))
  }

  /// Resets the wait after a pack of the channel was pushed.
  mutating func pushed(_ channel: ChannelInfo) { pushes[channel.id] = nil }

  /// Whether the pack from a base is postponed.
  func holds(_ channel: ChannelInfo, _ base: ManifestVersion) -> Bool {
    items[Key(channel: channel.id, base: base)]?.version == channel.version
  }

  /// Returns the channels for which something is due, and removes it.
  mutating func removeDue(_ hasSpace: (Int64) -> Bool) -> Set<Int64> {
    let now = Clock.monotonicNanoseconds()
    let due = items.filter { key, item in
      switch item.reason {
      case .space(let size): hasSpace(size)
      case .push: pushes[key.channel].map { $0.at <= now } ?? true
      }
    }
    for key in due.keys { items[key] = nil }
    return Set(due.keys.map(\.channel))
  }
}
