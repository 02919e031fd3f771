import Manifests
import Store
import System

/// What was logged about each channel, so that each fault of a version is logged once.
struct LoggedFaults: Sendable {
  private var lines: [Int64: (version: ManifestVersion, lines: Set<String>)] = [:]

  /// Notes a line.
  /// - Returns: whether it is to be logged.
  mutating func note(_ line: String, of channel: ChannelInfo) -> Bool {
    if lines[channel.id]?.version != channel.version { lines[channel.id] = (channel.version, []) }
    return lines[channel.id]?.lines.insert(line).inserted ?? true
  }
}

/// Older versions whose deltas or pack are postponed: packs without space until there is some, and what failed or couldn't be
/// pushed for a while. A newer version makes all of a channel's obsolete.
struct PostponedBases: Sendable {
  enum Reason: Equatable, Sendable {
    /// There was no space for a pack of this many bytes; then devices take the patch.
    case space(Int64)
    /// What was made could not be pushed; the value says why.
    case push(String)
    /// It could not be made; the value says why.
    case error(String)

    /// Why it failed; nil for what is left out on purpose.
    var fault: String? {
      switch self {
      case .space: nil
      case .push(let words), .error(let words): words
      }
    }
  }

  private struct Key: Hashable {
    let channel: Int64
    /// The version that they lead to: beside an open candidate, a channel has two.
    let version: ManifestVersion
    let base: ManifestVersion
  }

  private struct Item {
    let version: ManifestVersion
    let reason: Reason
  }

  /// A wait in seconds, and when it ends, in monotonic nanoseconds.
  private struct Wait {
    let seconds: Double
    let end: UInt64
  }

  private var items: [Key: Item] = [:]
  /// For channels whose files can't be pushed: bases fail together, for the same reason.
  private var pushes: [Int64: Wait] = [:]
  /// For bases that failed.
  private var failures: [Key: Wait] = [:]

  /// Seconds before the first attempt; each further wait doubles, up to the longest.
  private static let waits = (first: 2.0, longest: 300.0)

  /// Seconds until something may be due.
  var pause: Double {
    let now = Clock.monotonicNanoseconds()
    return items.compactMap { wait(of: $0, $1) }.map { $0.end > now ? Double($0.end - now) / 1e9 : 0 }.min()
      ?? .infinity
  }

  private func wait(of key: Key, _ item: Item) -> Wait? {
    switch item.reason {
    case .space: nil
    case .push: pushes[key.channel]
    case .error: failures[key]
    }
  }

  /// Postpones a base; 0 stands for all of a channel's.
  mutating func note(_ channel: ChannelInfo, _ base: ManifestVersion, _ reason: Reason) {
    let key = Key(channel: channel.id, version: channel.version, base: base)
    items[key] = Item(version: channel.version, reason: reason)
    switch reason {
    case .space: break
    case .push: pushes[channel.id] = Self.wait(after: pushes[channel.id])
    case .error: failures[key] = Self.wait(after: failures[key])
    }
  }

  private static func wait(after last: Wait?) -> Wait {
    let now = Clock.monotonicNanoseconds()
    // Several failures in a row count as one attempt.
    if let last, last.end > now { return last }
    let seconds = last.map { min($0.seconds * 2, waits.longest) } ?? waits.first
    return Wait(seconds: seconds, end: now + UInt64(seconds * 1e9))
  }

  /// Resets the wait after files of the channel were pushed.
  mutating func pushed(_ channel: ChannelInfo) { pushes[channel.id] = nil }

  /// Forgets that a base failed, after it was done.
  mutating func succeeded(_ channel: ChannelInfo, _ base: ManifestVersion) {
    let key = Key(channel: channel.id, version: channel.version, base: base)
    (items[key], failures[key]) = (nil, nil)
  }

  /// Whether a base is postponed.
  func holds(_ channel: ChannelInfo, _ base: ManifestVersion) -> Bool {
    items[Key(channel: channel.id, version: channel.version, base: base)]?.version == channel.version
  }

  /// How many of a channel's bases wait for another attempt, and why the newest of them does.
  func faults(of channel: ChannelInfo) -> (count: Int, newest: String?) {
    let found = items.filter { $0.key.channel == channel.id && $0.value.version == channel.version }
      .compactMap { key, item in item.reason.fault.map { (base: key.base, words: $0) } }
    return (found.count, found.max { $0.base < $1.base }?.words)
  }

  /// Returns the channels for which something is due, and removes it.
  mutating func removeDue(_ hasSpace: (Int64) -> Bool) -> Set<Int64> {
    let now = Clock.monotonicNanoseconds()
    let due = items.filter { key, item in
      if case .space(let size) = item.reason { return hasSpace(size) }
      return wait(of: key, item).map { $0.end <= now } ?? true
    }
    for key in due.keys { items[key] = nil }
    return Set(due.keys.map(\.channel))
  }
}
