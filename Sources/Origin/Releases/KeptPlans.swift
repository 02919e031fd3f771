import Manifests
import Store
import System

/// What preparations were given, so that a release can name it rather than send it again.
///
/// In memory alone, a few at a time and for a while: whoever names one that isn't there sends it whole.
final class KeptPlans: Sendable {
  /// Who sent what, for which channel.
  struct Name: Hashable, Sendable {
    /// The token's id.
    let token: String
    let app: AppName
    let channel: ChannelName
    /// Of the document that was sent.
    let sha256: SHA256
  }

  private struct Plan: Sendable {
    let name: Name
    let bundles: [BundleChange]
    /// How many URLs it is about.
    let urls: Int
    /// Monotonic nanoseconds.
    let end: UInt64
  }

  private let plans = Locked<[Plan]>([])
  private let clock: @Sendable () -> UInt64

  /// - Parameter clock: nanoseconds that never go back.
  init(clock: @escaping @Sendable () -> UInt64 = Clock.monotonicNanoseconds) { self.clock = clock }

  /// As many as one release may change.
  private static let mostURLs = 250_000
  private static let most = 16
  /// Seconds, more than a release waits for its deltas.
  private static let patience = 300

  /// Keeps a plan, in the place of the oldest ones where there is no room.
  /// - Returns: whether it is kept.
  func keep(_ bundles: [BundleChange], as name: Name) -> Bool {
    let urls = bundles.reduce(0) { sum, bundle in
      if case .update(_, let set, let remove) = bundle.change { sum + set.count + remove.count } else { sum }
    }
    guard urls <= Self.mostURLs else { return false }
    let end = clock() + UInt64(Self.patience) * 1_000_000_000
    plans.withLock { plans in
      plans.removeAll { $0.name == name }
      plans.append(Plan(name: name, bundles: bundles, urls: urls, end: end))
      while plans.count > Self.most || plans.reduce(0, { $0 + $1.urls }) > Self.mostURLs {
        plans.removeFirst()
      }
    }
    return true
  }

  /// What was given under a name; nil where it isn't kept.
  func plan(_ name: Name) -> [BundleChange]? {
    plans.withLock { plans in plans.first { $0.name == name }?.bundles }
  }

  /// The release is made.
  func drop(_ name: Name) { plans.withLock { plans in plans.removeAll { $0.name == name } } }

  /// Drops what nobody came for.
  func dropOld() {
    let now = clock()
    plans.withLock { plans in plans.removeAll { $0.end <= now } }
  }
}
