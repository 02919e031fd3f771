import Manifests
import Store
import System

/// The documents that preparations were given, so that a release can name one instead of sending it again.
///
/// A few are kept, in memory only and for a limited time: if one is gone, the client sends it whole.
///
/// This is what a token *sent*, whatever becomes of the channel meanwhile. What the store worked out from it, for one state of the
/// database, is its `RecentPlan`. They are two because they end at different times, and because the store knows no documents and
/// this cache no plans; a release that names its document has the same `bundles` as its preparation, by which the store finds the
/// plan without comparing them one by one.
final class PlanCache: Sendable {
  /// Who sent the document, and for which channel.
  struct Name: Hashable, Sendable {
    /// The token's id.
    let token: String
    let app: AppName
    let channel: ChannelName
    /// The SHA-256 of the document that was sent.
    let sha256: SHA256
  }

  private struct Plan: Sendable {
    let name: Name
    let bundles: [BundleChange]
    /// Its approximate size in memory, in bytes.
    let bytes: Int
    /// When it expires, in monotonic nanoseconds.
    let end: UInt64
  }

  private let plans = Locked<[Plan]>([])
  private let clock: @Sendable () -> UInt64

  /// Creates an empty cache; `clock` returns monotonic nanoseconds.
  init(
    maxBytes: Int = 128 << 20, maxTokenBytes: Int = 48 << 20,
    clock: @escaping @Sendable () -> UInt64 = Clock.monotonicNanoseconds
  ) {
    self.maxBytes = maxBytes
    self.maxTokenBytes = maxTokenBytes
    self.clock = clock
  }

  /// The maximum size of all plans, in bytes: documents arrive compressed, so that few bytes may expand to very many.
  private let maxBytes: Int
  /// The maximum size of one token's plans, in bytes, so that no token evicts those of others; 100,000 files take about 40
  /// MB.
  private let maxTokenBytes: Int
  /// In seconds; more than a release waits for its deltas.
  private static let timeout = 300

  /// Keeps a plan, evicting the oldest ones of its token if there is no space.
  /// - Returns: whether it was kept.
  func keep(_ bundles: [BundleChange], as name: Name) -> Bool {
    let bytes = Self.bytes(of: bundles)
    guard bytes <= maxTokenBytes else { return false }
    let end = clock() + UInt64(Self.timeout) * 1_000_000_000
    return plans.withLock { plans in
      plans.removeAll { $0.name == name }
      var own = plans.filter { $0.name.token == name.token }.reduce(bytes) { $0 + $1.bytes }
      while own > maxTokenBytes, let oldest = plans.firstIndex(where: { $0.name.token == name.token }) {
        own -= plans.remove(at: oldest).bytes
      }
      guard plans.reduce(bytes, { $0 + $1.bytes }) <= maxBytes else { return false }
      plans.append(Plan(name: name, bundles: bundles, bytes: bytes, end: end))
      return true
    }
  }

  /// The approximate memory that a plan takes: its URLs and, for each content, about one slot of a hash table.
  private static func bytes(of bundles: [BundleChange]) -> Int {
    bundles.reduce(4096) { sum, bundle in
      guard case .update(_, let set, let remove) = bundle.change else { return sum }
      let contents = set.reduce(0) { sum, item in
        sum + 320 + item.key.text.utf8.count
          + item.value.headers.fields.reduce(0) { $0 + 64 + $1.value.text.utf8.count }
          + item.value.fallbacks.weight
      }
      return sum + remove.reduce(contents) { $0 + 96 + $1.text.utf8.count }
    }
  }

  /// Returns the plan of a name; nil if it isn't kept.
  func plan(_ name: Name) -> [BundleChange]? {
    plans.withLock { plans in plans.first { $0.name == name }?.bundles }
  }

  /// Drops a plan whose release was made.
  func drop(_ name: Name) { plans.withLock { plans in plans.removeAll { $0.name == name } } }

  /// Drops expired plans.
  func dropOld() {
    let now = clock()
    plans.withLock { plans in plans.removeAll { $0.end <= now } }
  }
}
